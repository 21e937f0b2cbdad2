import { BUNDLED_SOURCE } from '#prices/bundled-lists.ts'
import { COST_WITHOUT_PRICE } from './answer.ts'
import { type Answer, isOfFirst, isSame, ownReason, type Verdict } from './judge.ts'
import type { Skipped, SourceName } from './listing.ts'
import type { PriceCase } from './price-cases.ts'
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
  /** By class, and by source: what three lists agree on, and what each says, whatever others do. */
  readonly byThree: Readonly<Record<string, Counts>>
  readonly bySource: Readonly<Record<string, Counts>>
  readonly ofThree: Counts
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
  /** Parts of one: of what three lists agree on at the standard tier, and of tiers that two agree on. */
  readonly shares: Readonly<Record<keyof typeof MOST, number>>
  readonly passes: boolean
}

const MOST = { wrong: 0.005, unpriced: 0.04, tiersWrong: 0.01, tiersUnpriced: 0.1 } as const

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
  const ofThree = agreedOn.filter(({ agreeing, priceCase }) => agreeing.length >= 3 && priceCase.tier === '')
  const wrong = agreedOn.filter(({ kind }) => kind === 'wrong')
  const unpriced = agreedOn.filter(({ kind }) => kind === 'unpriced')
  const atListPrice = verdicts.filter(({ isAtListPrice }) => isAtListPrice)
  const ofTiers = agreedOn.filter(({ priceCase }) => priceCase.tier !== '')
  const shares = {
    wrong: shareOf(ofThree, 'wrong'),
    unpriced: shareOf(ofThree, 'unpriced'),
    tiersWrong: shareOf(ofTiers, 'wrong'),
    tiersUnpriced: shareOf(ofTiers, 'unpriced'),
  }
  return {
    date,
    sources: [
      `bundled: ${BUNDLED_SOURCE}`,
      `${PINNED.modelsDev.package}@${PINNED.modelsDev.version} (models.dev)`,
      `litellm ${PINNED.litellm.version}`,
      `genai-prices ${PINNED.genaiPrices.version}`,
    ],
    asked: verdicts.length,
    agreed: countBy(agreedOn, ({ priceCase }) => priceCase.provider),
    alone: countBy(alone, ({ priceCase }) => priceCase.provider),
    tiers: tierCounts(tiers),
    pairs: countBy(agreedOn, ({ agreeing }) => agreeing.join(' + ')),
    byThree: countBy(
      ofThree,
      ({ priceCase }) => `${priceCase.class}${priceCase.above > 0 ? ' of long prompts' : ''}`,
    ),
    bySource: bySource(verdicts),
    ofThree: sumOf(ofThree),
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
    shares,
    passes:
      shares.wrong <= MOST.wrong &&
      shares.unpriced <= MOST.unpriced &&
      shares.tiersWrong <= MOST.tiersWrong &&
      shares.tiersUnpriced <= MOST.tiersUnpriced &&
      unknownHosts.priced.length === 0 &&
      !verdicts.some(({ answer }) => isMiscounted(answer)) &&
      atListPrice.length === 0,
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

function shareOf(verdicts: readonly Verdict[], kind: Verdict['kind']): number {
  return verdicts.filter((verdict) => verdict.kind === kind).length / Math.max(1, verdicts.length)
}

function sumOf(verdicts: readonly Verdict[]): Counts {
  return countBy(verdicts, () => 'all').all ?? { right: 0, wrong: 0, settled: 0, unpriced: 0 }
}

/** Each list as it stands, apart from the others: whether our price is the one that it says. */
function bySource(verdicts: readonly Verdict[]): Record<string, Counts> {
  const counts: Record<string, Counts> = {}
  for (const { priceCase, answer, kind } of verdicts) {
    for (const [source, usd] of priceCase.said) {
      const name = `${source}${priceCase.tier === '' ? '' : ', tiers'}`
      const count = counts[name] ?? { right: 0, wrong: 0, settled: 0, unpriced: 0 }
      counts[name] = count
      const isRight = answer.usd !== null && isSame(usd, answer.usd)
      count[
        answer.usd === null ? 'unpriced' : isRight ? 'right' : kind === 'settled' ? 'settled' : 'wrong'
      ] += 1
    }
  }
  return counts
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
