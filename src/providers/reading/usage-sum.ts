import type { Observation, UsagePart } from '../../call/observation.ts'
import { TOKEN_CLASSES, type TokenClass, type TokenUsage } from '../../call/usage.ts'
import { addCounts, type Count, type CountedUsage, countUsage, sumUsage } from './counts.ts'

/** Usage added up over the responses of one session. */
export interface UsageSum {
  /** One more response's usage. `raw` is its text. */
  add(counted: CountedUsage, totalMismatch: boolean, raw: string | null): void
  /** Keeps a usage's text that is not part of the sum. */
  addRaw(raw: string): void
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

  function addRaw(raw: string): void {
    rawBytes += Buffer.byteLength(raw) + 1
    if (rawBytes <= MAX_RAW_BYTES) raws.push(raw)
  }

  return {
    add(counted, totalMismatch, raw) {
      added = true
      invalid ||= counted.invalid
      mismatch ||= totalMismatch
      for (const name of TOKEN_CLASSES)
        counts.set(name, addCounts(counts.get(name) ?? null, counted.usage[name]))
      if (raw !== null) addRaw(raw)
    },
    addRaw,
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

/** Usage by model, added up over the responses of one session. */
export interface PartsSum {
  add(response: Pick<Observation, 'model' | 'usage' | 'parts'>): void
  /** `null` where no response was served by several. */
  observed(): readonly UsagePart[] | null
}

export function createPartsSum(): PartsSum {
  const byModel = new Map<string, TokenUsage>()
  let hasParts = false
  return {
    add({ model, usage, parts }) {
      hasParts ||= parts !== null
      for (const part of parts ?? (model === null ? [] : [{ model, usage }])) {
        const earlier = byModel.get(part.model)
        byModel.set(part.model, earlier === undefined ? part.usage : sumUsage([earlier, part.usage]))
      }
    },
    observed: () => (hasParts ? [...byModel].map(([model, usage]) => ({ model, usage })) : null),
  }
}
