/** Whether a model's name, in lower case, is one this rule is for. */
export type NameRule = (name: string) => boolean

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
    return operator === 'or'
      ? (name) => compiled.some((rule) => rule(name))
      : (name) => compiled.every((rule) => rule(name))
  }
  return typeof operand === 'string' ? compileText(operator, operand) : null
}

function compileText(operator: string, operand: string): NameRule | null {
  const text = operand.toLowerCase()
  switch (operator) {
    case 'equals':
      return (name) => name === text
    case 'starts_with':
      return (name) => name.startsWith(text)
    case 'ends_with':
      return (name) => name.endsWith(text)
    case 'contains':
      return (name) => name.includes(text)
    case 'regex':
      return compileRegex(operand)
    default:
      return null
  }
}

function compileRegex(source: string): NameRule | null {
  try {
    const regex = new RegExp(source)
    return (name) => regex.test(name)
  } catch {
    return null
  }
}
