import { NOTHING_OBSERVED, type Observation } from '../../call/observation.ts'
import { MAX_COUNT, TOKEN_CLASSES, type TokenClass, type TokenUsage } from '../../call/usage.ts'

/** An untrusted number read as a count. `null`: not reported; `'invalid'`: reported, but no possible count. */
export type Count = number | null | 'invalid'

/** Counts as a provider's usage object gives them; a class left out was not reported. */
export type Counts = { readonly [K in TokenClass]?: Count }

/** Usage read from a response. `invalid`: at least one count was impossible, and is `null` in `usage`. */
export interface CountedUsage {
  readonly usage: TokenUsage
  readonly invalid: boolean
}

const INTEGRAL_DECIMAL = /^\d{1,16}(?:\.0{1,16})?$/

/** Longest usage text kept with a record, in bytes of UTF-8. */
const RAW_USAGE_BYTES = 8192

/**
 * Reads a count. Integral floats and numeric strings (`28.0`, `"28"`: Bedrock Titan, guardrails) are taken;
 * negative, fractional and absurdly large ones are `'invalid'`, as is anything that is no number.
 */
export function parseCount(value: unknown): Count {
  if (value === null || value === undefined) return null
  const number = typeof value === 'string' && INTEGRAL_DECIMAL.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number)) return 'invalid'
  // `+ 0` turns -0 into 0.
  return number < 0 || number > MAX_COUNT ? 'invalid' : number + 0
}

/** Adds counts. Unreported ones add nothing; all unreported: `null`; an invalid one spoils the sum. */
export function addCounts(...counts: readonly Count[]): Count {
  let sum: number | null = null
  for (const count of counts) {
    if (count === 'invalid') return 'invalid'
    if (count !== null) sum = (sum ?? 0) + count
  }
  return sum !== null && sum > MAX_COUNT ? 'invalid' : sum
}

/** `whole - part`; `null` where either is not reported, `'invalid'` where the part is the larger. */
export function subtractCounts(whole: Count, part: Count): Count {
  if (whole === 'invalid' || part === 'invalid') return 'invalid'
  if (whole === null || part === null) return null
  return part > whole ? 'invalid' : whole - part
}

/**
 * The rest of a total beyond the counts that are known, for a count that was left out beside it. `null` where it has
 * nothing beyond them: then it is not known whether there was nothing or the total leaves it out too.
 */
export function restOfTotal(total: Count, ...known: readonly Count[]): Count {
  const rest = subtractCounts(total, addCounts(...known))
  return typeof rest === 'number' && rest > 0 ? rest : null
}

/** The first count that was reported at all. */
export function firstCount(...counts: readonly Count[]): Count {
  for (const count of counts) if (count !== null) return count
  return null
}

/** Puts counts into the normal form. */
export function countUsage(counts: Counts): CountedUsage {
  let invalid = false
  const known = (count: Count | undefined): number | null => {
    if (count === 'invalid') invalid = true
    return typeof count === 'number' ? count : null
  }
  const usage: TokenUsage = {
    inputTokens: known(counts.inputTokens),
    outputTokens: known(counts.outputTokens),
    cacheReadTokens: known(counts.cacheReadTokens),
    cacheWriteTokens: known(counts.cacheWriteTokens),
    cacheWrite5mTokens: known(counts.cacheWrite5mTokens),
    cacheWrite1hTokens: known(counts.cacheWrite1hTokens),
    reasoningTokens: known(counts.reasoningTokens),
    audioInputTokens: known(counts.audioInputTokens),
    audioOutputTokens: known(counts.audioOutputTokens),
    imageInputTokens: known(counts.imageInputTokens),
    imageOutputTokens: known(counts.imageOutputTokens),
    cacheReadAudioTokens: known(counts.cacheReadAudioTokens),
    cacheWrite12hTokens: known(counts.cacheWrite12hTokens),
    cacheReadImageTokens: known(counts.cacheReadImageTokens),
    videoInputTokens: known(counts.videoInputTokens),
  }
  return { usage, invalid }
}

/** Usages added up class by class; a class that none of them reported stays unreported. */
export function sumUsage(usages: readonly TokenUsage[]): TokenUsage {
  const sums = TOKEN_CLASSES.map((name) => [name, addCounts(...usages.map((usage) => usage[name]))] as const)
  return countUsage(Object.fromEntries(sums)).usage
}

/** Tells whether the usage says anything about input or output at all. */
export function saysTokens(usage: TokenUsage): boolean {
  return usage.inputTokens !== null || usage.outputTokens !== null
}

/** A total that the provider wrote and that is not our sum: `false` where it wrote none. */
export function totalDisagrees(total: Count, usage: TokenUsage): boolean {
  if (total === null) return false
  return total !== (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
}

/** An observation: what is not said is as in a response that reported nothing. */
export function observe(said: Partial<Observation> = {}): Observation {
  return { ...NOTHING_OBSERVED, ...said }
}

/** The text of a usage object, whole or cut to 8 KiB of UTF-8 at a character's border. */
export function boundRawUsage(text: string): string {
  if (text.length * 3 <= RAW_USAGE_BYTES) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= RAW_USAGE_BYTES) return text
  let end = RAW_USAGE_BYTES
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/** Usage added up over the responses of one session. */
export interface UsageSum {
  /** One more response's usage. `raw` is its text. */
  add(counted: CountedUsage, totalMismatch: boolean, raw: string | null): void
  /** The usage that the sum says. `isFinal`: no response is under way. */
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
