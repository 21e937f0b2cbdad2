import type { Provider } from '../../src/providers/registry.ts'
import { type Kind, type Listing, type PriceClass, type Rate, rateAt, type SourceName } from './listing.ts'

/** What one call has used. Counts of parts are in their wholes, as everywhere. */
export interface Use {
  readonly inputTokens: number
  readonly outputTokens: number
  /** How many of the class that is asked for, and in which of the two it is counted. */
  readonly count: number
}

/** What a call of one model costs that uses much of one class. */
export interface PriceCase {
  readonly provider: Provider
  readonly model: string
  readonly kind: Kind
  readonly class: PriceClass
  /** '': standard. */
  readonly tier: string
  /** Above so many prompt tokens; 0: the list price. */
  readonly above: number
  readonly use: Use
  /** What each source says that it costs, in US dollars. */
  readonly said: ReadonlyMap<SourceName, number>
  /** What it costs at each time of day, where a source says that this depends on it; else empty. */
  readonly saidByHour: readonly number[]
  /** What the same would cost at the standard tier, by the same sources. */
  readonly saidAtList: ReadonlyMap<SourceName, number>
}

/** Everything that sources say of one model at one provider. */
export interface Group {
  readonly provider: Provider
  readonly model: string
  readonly listings: readonly Listing[]
}

const TOKENS = 100_000
/** Beside what is asked for, so that a call looks like one. */
const PROMPT_TOKENS = 1_000
const MARGIN = 28_000

/** How many of what is billed by the piece: few enough to be one call. */
const PIECES: Partial<Record<PriceClass, number>> = {
  request: 1,
  webSearch: 10,
  searchUnit: 10,
  image: 1,
  audioSecond: 600,
  videoSecond: 8,
  character: 10_000,
  page: 100,
}

/** What a call is served at that does not ask for more. */
const LEAST_FEE = 'search_low'

const OUTPUTS: ReadonlySet<PriceClass> = new Set(['output', 'audioOutput', 'imageOutput', 'reasoning'])
/** Sold without a prompt in tokens. */
const WITHOUT_PROMPT: ReadonlySet<PriceClass> = new Set([
  'searchUnit',
  'image',
  'audioSecond',
  'videoSecond',
  'character',
  'page',
])

/** All cases of a model: every class, tier and size of prompt that any source lists. */
export function priceCasesOf(group: Group): PriceCase[] {
  const { provider, model, listings } = group
  const rates = listings.flatMap((listing) => listing.rates)
  const thresholds = [...new Set(rates.map(({ above }) => above).filter((above) => above > 0))].sort(
    (a, b) => a - b,
  )
  const kind = listings.find(({ source }) => source === 'litellm')?.kind ?? 'chat'
  const priceCases = new Map<string, PriceCase>()
  for (const rate of rates) {
    if (rate.class === 'webSearch' && isSearchModel(listings[0])) continue
    const key = `${rate.class} ${rate.tier} ${rate.above}`
    if (priceCases.has(key)) continue
    const use = useOf(rate, thresholds, group)
    const said = saidOf(listings, rate, rate.tier, use)
    if (said.size === 0) continue
    const saidAtList = rate.tier === '' ? said : saidOf(listings, rate, '', use)
    const { class: wanted, tier, above } = rate
    const saidByHour = listings
      .flatMap(({ hours }) => hours ?? [])
      .flatMap((atThatHour) => costAt(atThatHour, rate, tier, use) ?? [])
    priceCases.set(key, {
      provider,
      model,
      kind,
      class: wanted,
      tier,
      above,
      use,
      said,
      saidByHour,
      saidAtList,
    })
  }
  return [...priceCases.values()]
}

/** Above a threshold the prompt is somewhat longer; below all of them it is as long as it may be, at most. */
function useOf({ class: wanted, above }: Rate, thresholds: readonly number[], group: Group): Use {
  const pieces = piecesOf(wanted, group)
  if (pieces !== undefined) {
    return { inputTokens: WITHOUT_PROMPT.has(wanted) ? 0 : PROMPT_TOKENS, outputTokens: 0, count: pieces }
  }
  const next = thresholds.find((threshold) => threshold > above)
  const size =
    above === 0
      ? Math.min(TOKENS, next === undefined ? TOKENS : Math.floor(next * 0.8))
      : above + Math.min(MARGIN, ((next ?? Number.POSITIVE_INFINITY) - above) / 2)
  if (!OUTPUTS.has(wanted)) return { inputTokens: size, outputTokens: 0, count: size }
  return { inputTokens: above === 0 ? PROMPT_TOKENS : size, outputTokens: TOKENS, count: TOKENS }
}

/** Google's fee is for a prompt that was grounded up to Gemini 2, for each query since. */
function piecesOf(wanted: PriceClass, { provider, model }: Group): number | undefined {
  const isByPrompt = ['gemini', 'vertex'].includes(provider) && /^gemini-[12]/.test(model)
  return wanted === 'webSearch' && isByPrompt ? 1 : PIECES[wanted]
}

function saidOf(
  listings: readonly Listing[],
  rate: Rate,
  tier: string,
  use: Use,
): ReadonlyMap<SourceName, number> {
  const said = new Map<SourceName, number>()
  const fee = rate.class === 'request' ? 0 : feeOfEveryCall(listings)
  for (const { source, rates } of listings) {
    const cost = costAt(rates, rate, tier, use)
    if (cost !== null) said.set(source, cost + fee)
  }
  return said
}

/**
 * What every call of the model costs beside its tokens, by the one source that lists it. At Perplexity it is
 * the fee of a request, by the size of what may be searched; at OpenAI's search models it is that of the
 * search.
 */
function feeOfEveryCall(listings: readonly Listing[]): number {
  const isFee = isSearchModel(listings[0])
    ? ({ source, rate }: { source: SourceName; rate: Rate }) =>
        source === 'litellm' && rate.class === 'webSearch'
    : ({ rate }: { rate: Rate }) => rate.class === 'request' && rate.tier === LEAST_FEE
  const all = listings.flatMap(({ source, rates }) => rates.map((rate) => ({ source, rate })))
  return all.find(isFee)?.rate.usd ?? 0
}

/** Searches whatever it is asked, and counts no searches. */
function isSearchModel(listing: Listing | undefined): boolean {
  return listing?.provider === 'openai' && /-search-(?:preview|api)/.test(listing.model)
}

/** What a source says that the call costs; `null`: it does not say so itself. */
function costAt(
  rates: readonly Rate[],
  { class: wanted, above }: Rate,
  tier: string,
  use: Use,
): number | null {
  // Only who lists a price for that size of prompt speaks of it; a source without long-context prices may not know them.
  if (above > 0 && !rates.some((rate) => rate.above === above && rate.class === wanted && rate.tier === tier))
    return null
  // Nor does it speak of a class of long prompts where it says that others change and not this one.
  const price = rateAt(rates, wanted, tier, use.inputTokens)
  if (price === undefined) return null
  const isFee = PIECES[wanted] !== undefined
  const cost = price * use.count
  const rest = isFee || OUTPUTS.has(wanted) ? use.inputTokens : 0
  if (rest === 0) return cost
  // The tokens beside a fee are at the standard tier's price where the fee alone has tiers.
  const input = rateAt(rates, 'input', isFee ? '' : tier, use.inputTokens)
  return input === undefined ? null : cost + rest * input
}
