import { MODEL_CORRECTIONS } from '../../src/pricing/corrections/models.ts'
import { findSettled } from '../../src/pricing/corrections/settled.ts'
import { PLACE_UNKNOWN } from '../../src/pricing/places/place-tiers.ts'
import type { SourceName } from './listing.ts'
import type { PriceCase } from './price-cases.ts'

/** What the gateway recorded of a case's call. */
export interface Answer {
  /** US dollars; `null`: unpriced, or something in it is. */
  readonly usd: number | null
  /** Why there is no cost, or which price was taken. */
  readonly reason: string
  /** What the price's definition names. */
  readonly taken?: TakenPrice
  /** Whether the counts are those that were sent. */
  readonly isCounted: boolean
}

/** Where a price is from: the sources, and the provider and model by the catalog's names. */
export interface TakenPrice {
  readonly source: string
  readonly provider: string
  readonly listed: string
}

export interface Verdict {
  readonly priceCase: PriceCase
  readonly answer: Answer
  /** `settled`: other than the sources say, by the provider's own page. */
  readonly kind: 'right' | 'wrong' | 'settled' | 'unpriced'
  /** Of what is settled: why. */
  readonly why: string | null
  /** Sources that say the same of it, at least two; empty: one speaks alone, or none agrees with another. */
  readonly agreeing: readonly SourceName[]
  /** What is held to be right: what sources agree on, else the first that speaks. */
  readonly usd: number
  /** At another tier than standard, charged as if it were standard. */
  readonly isAtListPrice: boolean
  /** Sources speak of it and contradict each other. */
  readonly isDisputed: boolean
}

/** More than half a percent apart is another price. */
const TOLERANCE = 0.005
const DEARER_IN_A_REGION = 1.1

export function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b))
}

export function judge(priceCase: PriceCase, answer: Answer): Verdict {
  const said = [...priceCase.said]
  const agreed = said.find(([, usd]) => said.filter(([, other]) => isSame(usd, other)).length > 1)
  const agreeing = agreed === undefined ? [] : said.filter(([, usd]) => isSame(usd, agreed[1]))
  const isDisputed = said.some(([, usd]) => said.some(([, other]) => !isSame(usd, other)))
  // Where no two sources agree, being one of the prices that are said is all that can be asked.
  const held = agreed?.[1] ?? said.find(([, usd]) => isAt(answer, usd))?.[1] ?? said[0]?.[1] ?? 0
  const atList = [...priceCase.saidAtList.values()]
  const isAtListPrice =
    priceCase.tier !== '' && !isAt(answer, held) && atList.some((usd) => isAt(answer, usd))
  const isRight = isAt(answer, held) || isOfOtherHour(priceCase, answer, held)
  const why =
    answer.taken === undefined || isRight || isAtListPrice
      ? null
      : (reasonOfPlace(said, answer) ??
        ownReason(priceCase.model, answer.taken, isOfFirst(priceCase, answer)))
  const otherwise = why === null ? 'wrong' : 'settled'
  const kind = answer.usd === null ? 'unpriced' : isRight ? 'right' : otherwise
  return {
    priceCase,
    answer,
    kind,
    why,
    agreeing: agreeing.map(([source]) => source),
    usd: held,
    isAtListPrice,
    isDisputed,
  }
}

/** A name that says no place is at the global price, and says so; sources that differ have that of a region. */
function reasonOfPlace(said: readonly (readonly [SourceName, number])[], answer: Answer): string | null {
  const isOfPlace = said.every(([, usd]) => isAt(answer, usd) || isAt(answer, usd / DEARER_IN_A_REGION))
  return isOfPlace && answer.reason.includes(PLACE_UNKNOWN)
    ? 'the global price, as nothing says the place: a region costs a tenth more'
    : null
}

/** Sources that know no hours say the price of one of them; ours is the one of now. */
function isOfOtherHour({ saidByHour }: PriceCase, answer: Answer, held: number): boolean {
  return saidByHour.some((usd) => isAt(answer, usd)) && saidByHour.some((usd) => isSame(usd, held))
}

/** In which order sources are asked for a name. */
const PRECEDENCE: readonly SourceName[] = ['genai-prices', 'models.dev', 'litellm']

/** Whether our price is that of the first source, in our order, that says anything. */
export function isOfFirst({ said }: PriceCase, answer: Answer): boolean {
  const first = PRECEDENCE.find((name) => said.has(name))
  return first !== undefined && isAt(answer, said.get(first) ?? Number.NaN)
}

function isAt({ usd }: Answer, other: number): boolean {
  return usd !== null && isSame(usd, other)
}

/**
 * Why our price stands against what sources say of `model`: the provider's own page, in our reviewed
 * corrections, or a contradiction that was looked into and where the first source was right. `null`: not
 * looked into.
 *
 * @param isFirst Our price is that of the first source that says anything.
 */
export function ownReason(
  model: string,
  { source, provider, listed }: TakenPrice,
  isFirst: boolean,
): string | null {
  const correction = source.startsWith('corrections@')
    ? MODEL_CORRECTIONS.find((one) => one.providerId === provider && one.id === listed)
    : undefined
  const found = correction ?? (isFirst ? findSettled(provider, model) : null)
  return found === null ? null : `${found.why} (${found.source}, ${found.seen})`
}
