import type { ModelName } from '../../domain/model-name.ts'

/**
 * How a name fits a rule. `part`: the rule takes it, but the name goes on, so that it is another model's.
 * `revision`: what goes on says only which revision it is. `exact`: the rule says all of the name.
 */
export type NameFit = 'none' | 'part' | 'revision' | 'exact'

export type NameRule = (name: ModelName) => NameFit

const FITS: readonly NameFit[] = ['none', 'part', 'revision', 'exact']

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
    if (operator === 'or') return (name) => bestOf(compiled.map((rule) => rule(name)))
    // One part may say the name, and the others only what it must not be.
    return (name) => {
      const fits = compiled.map((rule) => rule(name))
      return fits.includes('none') ? 'none' : bestOf(fits)
    }
  }
  return typeof operand === 'string' ? compileText(operator, operand) : null
}

function bestOf(fits: readonly NameFit[]): NameFit {
  return FITS[Math.max(0, ...fits.map((fit) => FITS.indexOf(fit)))] ?? 'none'
}

function compileText(operator: string, operand: string): NameRule | null {
  const text = operand.toLowerCase()
  switch (operator) {
    case 'equals':
      return ({ text: name, sureLength }) => {
        if (!name.startsWith(text)) return 'none'
        // Also where a revision follows that the catalog does not list.
        return name.length === text.length ? 'exact' : sureLength === text.length ? 'revision' : 'none'
      }
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
