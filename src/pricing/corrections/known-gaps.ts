import type { UtcDay } from '../../domain/utc-day.ts'

/** Models that several public lists name, and that have no price here, each with the reason. */
export interface KnownGap {
  /** One of our provider names. */
  readonly provider: string
  /** Names of models, in lower case. */
  readonly models: RegExp
  readonly why: string
  readonly seen: UtcDay
}

const seen = '2026-11-25'

export const KNOWN_GAPS: readonly KnownGap[] = [
  {
    provider: 'bedrock',
    models: /^(?:[a-z-]+\.)?(?:anthropic\.claude-(?:haiku|opus|sonnet)-5-5|openai\.gpt-6-(?:luna|sol))/,
    why: "at one place two prices in LiteLLM's list, of two of AWS's interfaces; others have none",
    seen,
  },
  {
    provider: 'gemini',
    models: /^gemma-/,
    why: 'free at one source and not looked up at another: genai-prices writes both as an empty price',
    seen,
  },
  {
    provider: 'gemini',
    models: /^gemini-3-pro(?:$|-preview$)/,
    why: 'shut down on 2026-03-09 by one source, an alias of a newer model by another',
    seen,
  },
  {
    provider: 'fireworks',
    models: /^routers\//,
    why: 'the router is called by accounts/fireworks/routers/NAME, which has a price',
    seen,
  },
]

/** Why a model has no price though others list one; `null`: not looked into. */
export function findKnownGap(provider: string, model: string): KnownGap | null {
  const lower = model.toLowerCase()
  return KNOWN_GAPS.find((gap) => gap.provider === provider && gap.models.test(lower)) ?? null
}
