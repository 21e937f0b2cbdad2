import type { Observation } from '../../call/observation.ts'
import { TOKEN_CLASSES, type TokenClass, type TokenUsage } from '../../call/usage.ts'
import { addCounts, type Count, type CountedUsage, countUsage } from './counts.ts'

/** Usage added up over the responses of one session. */
export interface UsageSum {
  /** One more response's usage. `raw` is its text. */
  add(counted: CountedUsage, totalMismatch: boolean, raw: string | null): void
  /** What the sum says. `isFinal`: no response is under way. */
  observed(isFinal: boolean): Pick<Observation, 'usageSource' | 'usage' | 'raw' | 'totalMismatch'>
}

/** Texts kept together, in bytes: some twenty responses; of later ones only the counts are kept. */
const MAX_RAW_BYTES = 8192

export function createUsageSum(): UsageSum {
  const counts = new Map<TokenClass, Count>()
  const raws: string[] = []
  let rawBytes = 2
  let added = false
  let invalid = false
  let mismatch = false

  return {
    add(counted, totalMismatch, raw) {
      added = true
      invalid ||= counted.invalid
      mismatch ||= totalMismatch
      for (const name of TOKEN_CLASSES)
        counts.set(name, addCounts(counts.get(name) ?? null, counted.usage[name]))
      if (raw === null) return
      rawBytes += Buffer.byteLength(raw) + 1
      if (rawBytes <= MAX_RAW_BYTES) raws.push(raw)
    },
    observed(isFinal) {
      const total = countUsage(Object.fromEntries(counts))
      const usage: TokenUsage = total.usage
      const usageSource =
        invalid || total.invalid ? 'invalid' : !added ? 'none' : isFinal ? 'reported' : 'partial'
      return {
        usageSource,
        usage,
        raw: raws.length === 0 ? null : `[${raws.join(',')}]`,
        totalMismatch: mismatch,
      }
    },
  }
}
