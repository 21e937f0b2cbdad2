import { isLinear, type Price } from '../../pricing/price.ts'
import { costOfSums, type UsageSums } from '../../pricing/price-cost.ts'

/** What prompt caches saved, and could save: counts of tokens, and integer pico-USD. */
export interface CacheSavings {
  readonly promptTokens: bigint
  readonly readTokens: bigint
  /** Tokens read from the cache, times what one that is not read costs more. */
  readonly savedPico: bigint
  /** What writing to the cache cost beyond prompts that are not written. */
  readonly writesPico: bigint
  /** What would be saved beyond that if every other prompt token that is text were read, too. */
  readonly couldPico: bigint
}

export const NO_SAVINGS: CacheSavings = {
  promptTokens: 0n,
  readTokens: 0n,
  savedPico: 0n,
  writesPico: 0n,
  couldPico: 0n,
}

const NOT_READ = { cacheReadTokens: 0n, cacheReadAudioTokens: 0n, cacheReadImageTokens: 0n }
const NOT_WRITTEN = {
  cacheWriteTokens: 0n,
  cacheWrite5mTokens: 0n,
  cacheWrite1hTokens: 0n,
  cacheWrite12hTokens: 0n,
}

/** Adds what calls at one price used. Where the cost is not one of counts, as where an upstream said it, nothing. */
export function addSavings(known: CacheSavings, sums: UsageSums, price: Price | null): CacheSavings {
  if (price === null || !isLinear(price)) return known
  const cost = (changed: Partial<UsageSums>) => costOfSums(price, { ...sums, ...changed })
  const pico = cost({})
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = sums
  const media = sums.audioInputTokens + sums.imageInputTokens + sums.videoInputTokens
  const more = inputTokens - cacheReadTokens - cacheWriteTokens - media
  const canRead = price.definition.rates.cacheRead !== undefined && more > 0n
  return {
    promptTokens: known.promptTokens + inputTokens,
    readTokens: known.readTokens + cacheReadTokens,
    savedPico: known.savedPico + cost(NOT_READ) - pico,
    writesPico: known.writesPico + pico - cost(NOT_WRITTEN),
    couldPico: known.couldPico + (canRead ? pico - cost({ cacheReadTokens: cacheReadTokens + more }) : 0n),
  }
}
