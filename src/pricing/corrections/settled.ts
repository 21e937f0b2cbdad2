import type { UtcDay } from '../../domain/utc-day.ts'

/** Where sources contradict each other and the one that comes first is right, so that nothing is corrected. */
export interface SettledContradiction {
  /** The catalog's provider. */
  readonly providerId: string
  /** Names of models, in lower case. */
  readonly models: RegExp
  readonly why: string
  readonly source: string
  readonly seen: UtcDay
}

/** What `prices contradictions` gives as the reason of our choice; the first that fits. */
export const SETTLED_CONTRADICTIONS: readonly SettledContradiction[] = [
  {
    providerId: 'anthropic',
    models: /^claude-sonnet-4-5/,
    why: 'prices over 200,000 tokens are of days when such prompts were taken; they are refused since 2026-04-30',
    source: 'https://platform.claude.com/docs/en/release-notes/overview',
    seen: '2026-11-22',
  },
  {
    providerId: 'deepseek',
    models: /^deepseek-(?:flash|v4-)/,
    why: 'it is twice the price at peak hours; the others list these alone',
    source: 'https://api-docs.deepseek.com/quick_start/pricing',
    seen: '2026-11-22',
  },
]

export function findSettled(providerId: string, model: string): SettledContradiction | null {
  const lower = model.toLowerCase()
  return (
    SETTLED_CONTRADICTIONS.find(
      (settled) => settled.providerId === providerId && settled.models.test(lower),
    ) ?? null
  )
}
