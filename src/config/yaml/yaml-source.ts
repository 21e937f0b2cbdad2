import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { DEPLOYMENTS } from '../../pricing/places/upstream-places.ts'
import { modelPattern } from '../variables.ts'

/** An entry of a list as written: plain text by field, and the line it begins at. */
export interface TextEntry {
  readonly line: number
  readonly [field: string]: string | number
}

type Path = readonly PropertyKey[]

const list = z.array(z.unknown()).optional()

/** A YAML file that knows the line of everything in it, and reports what is wrong as `<file>:<line>: <what>`. */
export class YamlSource {
  readonly #name: string
  readonly #problems: string[]
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #value: unknown

  /** Syntax errors are added to `problems` at once; the file then reads as empty. */
  constructor(text: string, name: string, problems: string[]) {
    this.#name = name
    this.#problems = problems
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    const mistakes = [...document.errors, ...document.warnings]
    for (const { pos, message } of mistakes) this.report(this.#lines.linePos(pos[0]).line, message)
    this.#document = mistakes.length === 0 ? document : parseDocument('')
    this.#value = this.#document.toJS() ?? {}
  }

  report(line: number, what: string): void {
    this.#problems.push(`${this.#name}:${line}: ${what}`)
  }

  /** What stands at `path`, as `schema` gives it; `undefined`, with every problem reported, if it is not that. */
  parse<Schema extends z.ZodType>(schema: Schema, path: Path): z.output<Schema> | undefined {
    const parsed = schema.safeParse(path.reduce(valueAt, this.#value))
    for (const issue of parsed.error?.issues ?? []) {
      const place = [...path, ...issue.path]
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) this.#reportAt([...place, key], 'is not a known setting')
      } else {
        this.#reportAt(place, plainMessage(issue))
      }
    }
    return parsed.data
  }

  /** The elements of the list `name` that are what `schema` says, with their lines; `null`: there is no list. */
  parseEach<Schema extends z.ZodObject>(
    schema: Schema,
    name: string,
  ): readonly (z.output<Schema> & { readonly line: number })[] | null {
    const elements = this.parse(list, [name])
    if (elements === undefined) return null
    return elements.flatMap((_element, index) => {
      const parsed = this.parse(schema, [name, index])
      return parsed === undefined ? [] : [{ ...parsed, line: this.lineOf([name, index]) }]
    })
  }

  /** The entries of the list `name` with every value as its text stands in the file, digit by digit. */
  textEntries(name: string): readonly TextEntry[] {
    const elements = this.parse(list, [name]) ?? []
    return elements.flatMap((_element, index) => {
      const line = this.lineOf([name, index])
      const node = this.#nodeAt([name, index])
      if (!isMap(node)) {
        this.#reportAt([name, index], 'must be a mapping')
        return []
      }
      const entry: [string, string | number][] = [['line', line]]
      for (const { key } of node.items) {
        const field = isScalar(key) ? String(key.value) : ''
        const value = this.#nodeAt([name, index, field])
        if (field === 'line') this.#reportAt([name, index, field], 'is not a known setting')
        else if (!isScalar(value) || value.value === null)
          this.#reportAt([name, index, field], 'must be text')
        else entry.push([field, value.source ?? String(value.value)])
      }
      return [{ ...Object.fromEntries(entry), line }]
    })
  }

  /** The line of the key or element at `path`, or of the nearest thing around it. */
  lineOf(path: Path): number {
    if (path.length === 0) return 1
    const parent = this.#nodeAt(path.slice(0, -1))
    const last = path.at(-1)
    const node = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === last)?.key
      : isSeq(parent) && typeof last === 'number'
        ? parent.items[last]
        : undefined
    const offset = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined
    return offset === undefined ? this.lineOf(path.slice(0, -1)) : this.#lines.linePos(offset).line
  }

  #nodeAt(path: Path): unknown {
    const node = this.#document.getIn(path, true)
    return isAlias(node) ? node.resolve(this.#document) : node
  }

  #reportAt(path: Path, what: string): void {
    const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
    this.report(this.lineOf(path), `${place.replace(/^\./, '') || 'the file'} ${what}`)
  }
}

function valueAt(container: unknown, part: PropertyKey): unknown {
  if (typeof container !== 'object' || container === null) return undefined
  return Object.getOwnPropertyDescriptor(container, part)?.value
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a mapping',
  string: 'text',
}

/** Zod's own messages name types as programmers do; those of our own schemas are said as they are. */
function plainMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code !== 'invalid_type') return issue.message
  if (issue.input === undefined && /received undefined$/.test(issue.message)) return 'is missing'
  return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`
}

const deployment = z.enum(DEPLOYMENTS, `must be one of ${DEPLOYMENTS.join(', ')}`)

/** Where an upstream on Azure serves: all that it has, or each deployment by its name. */
export const deploymentShape = z.union([deployment, z.record(modelPattern, deployment)])
