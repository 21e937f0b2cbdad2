import { type BilledUnits, NO_UNITS, type TokenUsage, UNIT_DIMENSIONS } from '../call/usage.ts'
import type { BillingRules } from './billing-rules.ts'
import type { RateClass, Rates } from './price-rates.ts'

type BillingCoverage = Pick<BillingRules, 'mediaIsApart' | 'secondsAreBeside'>

/**
 * What was used and has no rate, so that a cost is not all of it; `null`: nothing. Seconds, images and
 * characters do not count as such where the same call was billed by tokens: they are another measure of
 * these. Runs on every call, so it is spelled out.
 */
export function unpricedParts(
  rates: Rates,
  billingRules: BillingCoverage,
  usage: TokenUsage,
  units: BilledUnits,
): readonly RateClass[] | null {
  let gaps: RateClass[] | null = null
  if (units !== NO_UNITS) gaps = unitGaps(rates, billingRules, usage, units)
  if (billingRules.mediaIsApart) gaps = mediaGaps(rates, usage, gaps)
  // Of a lifetime whose price is not known: at least what the shortest costs.
  if (rates.cacheWrite !== undefined) {
    if (rates.cacheWrite1h === undefined && isSome(usage.cacheWrite1hTokens)) {
      gaps = [...(gaps ?? []), 'cacheWrite1h']
    }
    if (rates.cacheWrite12h === undefined && isSome(usage.cacheWrite12hTokens)) {
      gaps = [...(gaps ?? []), 'cacheWrite12h']
    }
  }
  if (rates.input === undefined && rates.output === undefined && isOfToolsAlone(rates)) {
    if (isSome(usage.inputTokens)) gaps = [...(gaps ?? []), 'input']
    if (isSome(usage.outputTokens)) gaps = [...(gaps ?? []), 'output']
  }
  // The plain rest of an answer; embeddings have none, and no price for one.
  if (rates.output === undefined && rates.input !== undefined && plainOutput(usage) > 0) {
    gaps = [...(gaps ?? []), 'output']
  }
  return gaps
}

const TOOLS: ReadonlySet<string> = new Set<RateClass>([
  'webSearch',
  'fileSearch',
  'codeRun',
  'xSearch',
  'mapSearch',
  'webFetch',
  'otherToolCall',
])

/** Tools of a provider's are billed beside the tokens; any other measure is in their place. */
function isOfToolsAlone(rates: Rates): boolean {
  return Object.keys(rates).every((rate) => TOOLS.has(rate))
}

function unitGaps(
  rates: Rates,
  { secondsAreBeside }: BillingCoverage,
  usage: TokenUsage,
  units: BilledUnits,
): RateClass[] | null {
  const gaps: RateClass[] = []
  const outputRate = rates.output ?? rates.imageOutput
  const isByOutput = isSome(usage.outputTokens) && outputRate !== undefined
  const isByTokens = isByOutput || (isSome(usage.inputTokens) && rates.input !== undefined)
  for (const { name, rate } of UNIT_DIMENSIONS) {
    if (!isSome(units[name]) || rates[rate] !== undefined) continue
    // Of a model that generates, pictures are its output: without any counted they are not billed by it.
    if (name === 'images' && (outputRate === undefined ? isByTokens : isByOutput)) continue
    const isMeasureOfTokens = name === 'characters' || (name === 'audioMs' && !secondsAreBeside)
    if (!isMeasureOfTokens || !isByTokens) gaps.push(rate)
  }
  return gaps.length === 0 ? null : gaps
}

function mediaGaps(rates: Rates, usage: TokenUsage, gaps: RateClass[] | null): RateClass[] | null {
  let all = gaps
  const add = (rate: RateClass) => {
    all = [...(all ?? []), rate]
  }
  if (isSome(usage.audioInputTokens) && rates.audioInput === undefined) add('audioInput')
  if (isSome(usage.imageInputTokens) && rates.imageInput === undefined) add('imageInput')
  if (isSome(usage.audioOutputTokens) && rates.audioOutput === undefined) add('audioOutput')
  if (isSome(usage.imageOutputTokens) && rates.imageOutput === undefined) add('imageOutput')
  return all
}

function plainOutput({ outputTokens, audioOutputTokens, imageOutputTokens }: TokenUsage): number {
  return (outputTokens ?? 0) - (audioOutputTokens ?? 0) - (imageOutputTokens ?? 0)
}

function isSome(count: number | null): boolean {
  return count !== null && count > 0
}
