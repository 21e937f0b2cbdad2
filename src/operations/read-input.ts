import { z } from 'zod'
import { GatewayError } from '../http/errors.ts'
import type { AnyOperation, OperationFields } from './operation.ts'
import type { Ports } from './ports.ts'
import { invalid } from './refuse.ts'

/** A field as OpenAPI and the command line see it. */
export interface FieldForm {
  readonly name: string
  readonly isRequired: boolean
  readonly description: string
  /** What stands for its value in the help of the command line: `name`; `null`: its type says it. */
  readonly value: string | null
  /** JSON Schema 2020-12 of what is sent, without the description. */
  readonly schema: JsonSchema
}

/** The members of a JSON schema that renderers read. */
export interface JsonSchema {
  readonly type?: string | readonly string[] | undefined
  readonly enum?: readonly unknown[]
  readonly items?: JsonSchema
  readonly default?: unknown
  readonly [member: string]: unknown
}

/** The member of a field's `meta` that says what stands for its value in the help of the command line. */
export const VALUE = 'x-value'

/** The fields of an operation, in the order in which it declares them. */
export function formsOf(fields: OperationFields): readonly FieldForm[] {
  return Object.entries(fields).map(([name, field]) => ({ name, ...formOf(field) }))
}

type Form = Omit<FieldForm, 'name'>

/** Many operations share a field, and its schema takes long to write. */
const known = new WeakMap<OperationFields[string], Form>()

function formOf(field: OperationFields[string]): Form {
  const before = known.get(field)
  if (before !== undefined) return before
  const { $schema: _, description = '', [VALUE]: value, ...schema } = z.toJSONSchema(field, { io: 'input' })
  const form: Form = {
    isRequired: !field.safeParse(undefined).success,
    description,
    value: typeof value === 'string' ? value : null,
    schema: schema as JsonSchema,
  }
  known.set(field, form)
  return form
}

const INTEGER = /^-?(0|[1-9][0-9]{0,14})$/
const NUMBER = /^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,12})?$/

/**
 * A text of a query or of the command line as the JSON that the field takes. What cannot be read stays a text, which
 * the field then refuses in its own words.
 */
export function readText({ type, items = {} }: JsonSchema, written: string): unknown {
  if (type === 'array') return written.split(',').map((part) => readText(items, part.trim()))
  if (type === 'boolean') return written === 'true' ? true : written === 'false' ? false : written
  const plain = type === 'integer' ? INTEGER : type === 'number' ? NUMBER : null
  return plain?.test(written) === true ? Number(written) : written
}

/**
 * Checks parameters by their fields. `undefined` counts as none: there was no body.
 *
 * @param writtenAs A list is one text in a query and on the command line, so an item at fault has no name there.
 * @throws {GatewayError} `invalid_request` that names the first invalid parameter.
 */
export function parseFields(
  fields: OperationFields,
  given: unknown,
  writtenAs: 'json' | 'text' = 'json',
): Readonly<Record<string, unknown>> {
  const parsed = z.strictObject(fields).safeParse(given === undefined ? {} : given, { reportInput: true })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  if (issue === undefined) throw new GatewayError('invalid_request')
  if (issue.code === 'unrecognized_keys') throw unknownField(issue.keys[0] ?? '')
  if (issue.path.length === 0) throw new GatewayError('invalid_request', { message: 'Send a JSON object.' })
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined
  const path = writtenAs === 'json' ? issue.path : issue.path.slice(0, 1)
  throw invalid(path.join('.'), isMissing ? 'is missing' : issue.message)
}

export function unknownField(param: string): GatewayError {
  return new GatewayError('invalid_request', { param, message: `There is no parameter ${param}.` })
}

/** Names that a field has besides its own, over HTTP and on the command line. */
const ALIASES: ReadonlyMap<string, string> = new Map([['by', 'group_by']])

/** Puts a parameter's own name in place of another one that it goes by. */
export function withoutAliases(
  fields: OperationFields,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  // `fromEntries` keeps a parameter that is called `__proto__`, which no field is.
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const own = ALIASES.get(name)
      if (own === undefined || Object.hasOwn(fields, name) || !Object.hasOwn(fields, own))
        return [name, value]
      if (Object.hasOwn(given, own)) throw invalid(name, `is another name of ${own}, so give one of them`)
      return [own, value]
    }),
  )
}

/** An error about such a parameter, under the name that it was given by. */
export function namedAsGiven(error: unknown, given: Readonly<Record<string, unknown>>): unknown {
  if (!(error instanceof GatewayError)) return error
  const { param = '' } = error.detail
  const alias = Object.hasOwn(given, param)
    ? undefined
    : aliasesOf(param).find((one) => Object.hasOwn(given, one))
  if (alias === undefined) return error
  const message = error.message.startsWith(`${param} `)
    ? `${alias}${error.message.slice(param.length)}`
    : error.message
  return new GatewayError(error.error, { ...error.detail, param: alias, message })
}

/** The names that a field goes by besides its own. */
export function aliasesOf(name: string): readonly string[] {
  return [...ALIASES].flatMap(([alias, own]) => (own === name ? [alias] : []))
}

/** Checks rules over several fields. `parseFields` has checked each. */
export function checkTogether<Has extends Ports>(
  declared: AnyOperation<Has>,
  input: Readonly<Record<string, unknown>>,
): void {
  declared.check?.(input as never)
}
