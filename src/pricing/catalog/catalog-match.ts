import type { ModelName } from '../../domain/model-name.ts'

/**
 * How a name fits a rule. `part`: the rule takes it, but the name goes on, so that it is another model's.
 * `revision`: what goes on says only which revision it is. `exact`: the rule says all of the name.
 */
export type NameFit = 'none' | 'part' | 'revision' | 'exact'

export interface NameRule {
  (name: ModelName): NameFit
  /** The names that fit, in lower case, beside sure revisions of them. Absent: the rule is not a list of names. */
  readonly texts?: readonly string[]
}

const RANKS: Readonly<Record<NameFit, number>> = { none: 0, part: 1, revision: 2, exact: 3 }

/**
 * Compiles the catalog's match logic: `equals`, `starts_with`, `ends_with`, `contains` (all without regard to
 * case), `regex` (on the lower-case name), and `or` / `and` of more of them. `null`: not match logic.
 */
export function compileMatch(logic: unknown): NameRule | null {
  if (typeof logic !== 'object' || logic === null) return null
  const entries = Object.entries(logic)
  const [entry] = entries
  if (entry === undefined || entries.length !== 1) return null
  const [operator, operand] = entry
  if (operator === 'or' || operator === 'and') {
    const rules = Array.isArray(operand) ? operand.map(compileMatch) : [null]
    const compiled = rules.filter((rule) => rule !== null)
    if (compiled.length !== rules.length) return null
    return operator === 'or' ? anyOf(compiled) : allOf(compiled)
  }
  return typeof operand === 'string' ? compileText(operator, operand) : null
}

function anyOf(rules: readonly NameRule[]): NameRule {
  const rule = (name: ModelName) => {
    let best: NameFit = 'none'
    for (const one of rules) {
      best = better(best, one(name))
      if (best === 'exact') break
    }
    return best
  }
  const texts = rules.map((one) => one.texts)
  return texts.includes(undefined)
    ? rule
    : Object.assign(rule, { texts: texts.flatMap((list) => list ?? []) })
}

/** One part may say the name, and the others only what it must not be. */
function allOf(rules: readonly NameRule[]): NameRule {
  return (name) => {
    let best: NameFit = 'none'
    for (const one of rules) {
      const fit = one(name)
      if (fit === 'none') return fit
      best = better(best, fit)
    }
    return best
  }
}

function better(one: NameFit, other: NameFit): NameFit {
  return RANKS[other] > RANKS[one] ? other : one
}

function compileText(operator: string, operand: string): NameRule | null {
  const text = operand.toLowerCase()
  switch (operator) {
    case 'equals':
      return equals(text)
    case 'starts_with':
      return (name) => (name.text.startsWith(text) ? fitOf(name, 0, text.length) : 'none')
    case 'ends_with':
      return (name) =>
        name.text.endsWith(text) ? fitOf(name, name.text.length - text.length, name.text.length) : 'none'
    case 'contains':
      return (name) => {
        const at = name.text.indexOf(text)
        return at < 0 ? 'none' : fitOf(name, at, at + text.length)
      }
    case 'regex':
      return compileRegex(operand)
    default:
      return null
  }
}

function equals(text: string): NameRule {
  const rule = ({ text: name, sureLength }: ModelName) => {
    if (!name.startsWith(text)) return 'none'
    // Also where a revision follows that the catalog does not list.
    return name.length === text.length ? 'exact' : sureLength === text.length ? 'revision' : 'none'
  }
  return Object.assign(rule, { texts: [text] })
}

function compileRegex(source: string): NameRule | null {
  try {
    const regex = new RegExp(source)
    return (name) => {
      const match = regex.exec(name.text)
      return match === null ? 'none' : fitOf(name, match.index, match.index + match[0].length)
    }
  } catch {
    return null
  }
}

/** Regions and makers before a name, as Bedrock writes them: `us.anthropic.`. */
const PLACES_BEFORE = /^(?:[a-z][a-z-]*\.)*$/

/** How a name fits a rule that speaks of the part of it from `from` to `to`. */
function fitOf({ text, bareLength }: ModelName, from: number, to: number): NameFit {
  if (!PLACES_BEFORE.test(text.slice(0, from))) return 'part'
  if (to === text.length) return 'exact'
  return to >= bareLength ? 'revision' : 'part'
}
