import { BUNDLED_SOURCE } from '../../src/pricing/sources/catalog-bundle.ts'
import { COST_WITHOUT_PRICE } from './answer.ts'
import { type Answer, isOfFirst, isSame, type Verdict } from './judge.ts'
import type { Skipped, SourceName } from './listing.ts'
import type { PriceCase } from './price-cases.ts'
import { ownReason } from './reasons.ts'
import { PINNED } from './sources.ts'

export interface Counts {
  right: number
  wrong: number
  settled: number
  unpriced: number
}

/** A verdict, as it is printed and kept. */
export interface Line {
  readonly provider: string
  readonly model: string
  readonly class: string
  readonly tier: string
  readonly above: number
  readonly ours: number | null
  readonly why: string
  readonly said: Readonly<Partial<Record<SourceName, number>>>
}

export interface Summary {
  readonly date: string
  readonly sources: readonly string[]
  readonly asked: number
  /** By provider: of what at least two sources agree on. */
  readonly agreed: Readonly<Record<string, Counts>>
  /** By provider: of what one source says alone. */
  readonly alone: Readonly<Record<string, Counts>>
  /** By provider and tier, whichever source says it. */
  readonly tiers: Readonly<Record<string, Counts & { atListPrice: number }>>
  readonly pairs: Readonly<Record<string, Counts>>
  readonly wrong: readonly Line[]
  /** Other than at least two sources say, by the provider's own page: why. */
  readonly settled: readonly (Line & { readonly choice: string })[]
  readonly unpriced: readonly Line[]
  readonly atListPrice: readonly Line[]
  readonly wrongAlone: readonly Line[]
  /** Sources contradict each other: which of them is taken, and why. */
  readonly disputed: readonly (Line & { readonly choice: string })[]
  readonly notCounted: readonly Line[]
  /** Models of unknown hosts: these have no price, whatever their names look like. */
  readonly unknownHosts: { readonly asked: number; readonly priced: readonly string[] }
  readonly notAsked: Readonly<Record<string, number>>
  readonly skipped: Readonly<Record<string, number>>
  readonly unpricedShare: number
  readonly passes: boolean
}

const MOST_UNPRICED = 0.05

export function summarize(
  verdicts: readonly Verdict[],
  notAsked: ReadonlyMap<string, readonly PriceCase[]>,
  skipped: Skipped,
  unknownHosts: Summary['unknownHosts'],
  date: string,
): Summary {
  const agreedOn = verdicts.filter(({ agreeing }) => agreeing.length > 0)
  const alone = verdicts.filter(({ agreeing, isDisputed }) => agreeing.length === 0 && !isDisputed)
  const disputed = verdicts.filter(({ isDisputed }) => isDisputed)
  const tiers = verdicts.filter(({ priceCase }) => priceCase.tier !== '')
  const wrong = agreedOn.filter(({ kind }) => kind === 'wrong')
  const unpriced = agreedOn.filter(({ kind }) => kind === 'unpriced')
  const atListPrice = verdicts.filter(({ isAtListPrice }) => isAtListPrice)
  const unpricedShare = unpriced.length / Math.max(1, agreedOn.length)
  return {
    date,
    sources: [
      BUNDLED_SOURCE,
      `${PINNED.modelsDev.package}@${PINNED.modelsDev.version} (models.dev)`,
      `litellm ${PINNED.litellm.version}`,
    ],
    asked: verdicts.length,
    agreed: countBy(agreedOn, ({ priceCase }) => priceCase.provider),
    alone: countBy(alone, ({ priceCase }) => priceCase.provider),
    tiers: tierCounts(tiers),
    pairs: countBy(agreedOn, ({ agreeing }) => agreeing.join(' + ')),
    wrong: wrong.map(lineOf),
    settled: agreedOn
      .filter(({ kind }) => kind === 'settled')
      .map((verdict) => ({ ...lineOf(verdict), choice: verdict.why ?? '' })),
    unpriced: unpriced.map(lineOf),
    atListPrice: atListPrice.map(lineOf),
    wrongAlone: alone.filter(({ kind }) => kind === 'wrong').map(lineOf),
    disputed: disputed.map((verdict) => ({ ...lineOf(verdict), choice: choiceOf(verdict) })),
    notCounted: verdicts.filter(({ answer }) => isMiscounted(answer)).map(lineOf),
    unknownHosts,
    notAsked: Object.fromEntries([...notAsked].map(([why, priceCases]) => [why, priceCases.length])),
    skipped: Object.fromEntries([...skipped].map(([why, names]) => [why, names.length])),
    unpricedShare,
    passes:
      wrong.length === 0 &&
      unknownHosts.priced.length === 0 &&
      !verdicts.some(({ answer }) => isMiscounted(answer)) &&
      atListPrice.length === 0 &&
      unpricedShare <= MOST_UNPRICED,
  }
}

/** Its counts are not what was sent, and a cost stands all the same, 0 or another. */
function isMiscounted({ isCounted, usd, reason }: Answer): boolean {
  return !isCounted && (usd !== null || reason === COST_WITHOUT_PRICE)
}

function tierCounts(verdicts: readonly Verdict[]) {
  const key = ({ priceCase }: Verdict) => `${priceCase.provider} ${priceCase.tier}`
  const counts = countBy(verdicts, key)
  return Object.fromEntries(
    Object.entries(counts).map(([name, count]) => [
      name,
      {
        ...count,
        atListPrice: verdicts.filter((verdict) => key(verdict) === name && verdict.isAtListPrice).length,
      },
    ]),
  )
}

function countBy(verdicts: readonly Verdict[], key: (verdict: Verdict) => string): Record<string, Counts> {
  const counts: Record<string, Counts> = {}
  for (const verdict of verdicts) {
    const count = counts[key(verdict)] ?? { right: 0, wrong: 0, settled: 0, unpriced: 0 }
    count[verdict.kind] += 1
    counts[key(verdict)] = count
  }
  return counts
}

function lineOf({ priceCase, answer }: Verdict): Line {
  return {
    provider: priceCase.provider,
    model: priceCase.model,
    class: priceCase.class,
    tier: priceCase.tier,
    above: priceCase.above,
    ours: answer.usd,
    why: answer.reason,
    said: Object.fromEntries(priceCase.said),
  }
}

/** Which source is taken, and why. */
function choiceOf({ priceCase, answer, agreeing }: Verdict): string {
  const { usd, reason, taken: from } = answer
  const source = from?.source ?? ''
  if (usd === null) return `none: ${reason}`
  const taken = [...priceCase.said].filter(([, said]) => isSame(said, usd)).map(([name]) => name)
  const isFirst = isOfFirst(priceCase, answer)
  const own = from === undefined ? null : ownReason(priceCase.model, from, isFirst)
  if (own !== null) return `${price(taken)}, as ${own}: ${reason}`
  if (taken.length === 0) return `none of them, its price is from ${source}: ${reason}`
  if (agreeing.length > 0 && taken.length === agreeing.length)
    return `${price(taken)}, two against one: ${reason}`
  return `${price(taken)}, ${isFirst ? 'which comes first' : 'which lists this very name'}: ${reason}`
}

function price(sources: readonly SourceName[]): string {
  return sources.length === 0 ? 'unlike all of them' : `as in ${sources.join(' and ')}`
}
