/** Who has a report of costs that an admin key opens, and the variable that has the key. */
const ADMIN_KEYS = { openai: 'OPENAI_ADMIN_KEY', anthropic: 'ANTHROPIC_ADMIN_KEY' } as const

export type CostReporter = keyof typeof ADMIN_KEYS

export const COST_REPORTERS = Object.keys(ADMIN_KEYS) as readonly CostReporter[]

export function adminKeyName(reporter: CostReporter): (typeof ADMIN_KEYS)[CostReporter] {
  return ADMIN_KEYS[reporter]
}
