import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { Comparison } from './compare-books.ts'
import type { CallTrace } from './load.ts'

/** An order to prove a gateway. */
export interface ProofOrder {
  readonly seed: number
  /** How long calls are made. */
  readonly seconds: number
  /** Calls a second. */
  readonly rate: number
  /** `null`: a tallygate that is started for it. */
  readonly other: OtherGateway | null
}

/** A gateway that is started elsewhere, with the stand-in as its provider. */
export interface OtherGateway {
  /** Up to and without `/chat/completions`. */
  readonly url: string
  readonly key: string
  readonly model: string
  /** The port of the stand-in. */
  readonly standInPort: number
  /** Commands, of which one after the other is run while calls are made. */
  readonly kills: readonly string[]
  readonly books: OtherBooks
}

/** The list of what another gateway has counted. */
export type OtherBooks =
  | { readonly kind: 'url'; readonly url: string; readonly key: string }
  | { readonly kind: 'sql'; readonly databaseUrl: string; readonly query: string }

/** The outcome. Amounts are exact text in US dollars. */
export interface Proof {
  readonly gateway: string
  readonly seed: number
  readonly seen: number
  readonly counted: number
  readonly lost: number
  readonly doubled: number
  /** Whole answers that were counted with other tokens, or another cost. */
  readonly wrong: number
  /** Rows of no call of ours. */
  readonly strange: number
  readonly whole: number
  readonly cut: number
  readonly failed: number
  readonly refused: number
  readonly expected_usd: string
  /** `null`: nothing has a price there. */
  readonly counted_usd: string | null
  readonly killed: Readonly<Record<string, number>>
  /** Each thing that does not agree, in words. */
  readonly complaints: readonly string[]
  /** Logs of what was started, where something does not agree. */
  readonly logs: string | null
}

const SHOWN = 5

/** Each thing that is not as it has to be; empty: the books agree. */
export function complaintsOf({ lost, doubled, wrong }: Comparison): readonly string[] {
  const lists = { lost, doubled, 'not counted as they were': wrong }
  return Object.entries(lists).flatMap(([what, which]) => {
    if (which.length === 0) return []
    const more = which.length > SHOWN ? ', …' : ''
    return [`${what}: ${which.length} (${which.slice(0, SHOWN).join(', ')}${more})`]
  })
}

export function buildProof(
  run: Pick<Proof, 'gateway' | 'seed' | 'complaints' | 'logs'> & {
    readonly killed: ReadonlyMap<string, number>
  },
  traces: readonly CallTrace[],
  found: Comparison,
): Proof {
  const count = (...answers: readonly CallTrace['answer'][]) =>
    traces.filter(({ answer }) => answers.includes(answer)).length
  return {
    ...run,
    killed: Object.fromEntries(run.killed),
    seen: found.seen,
    counted: found.counted,
    lost: found.lost.length,
    doubled: found.doubled.length,
    wrong: found.wrong.length,
    strange: found.strange,
    whole: found.whole,
    cut: count('cut', 'left'),
    failed: count('error'),
    refused: count('refused'),
    expected_usd: picoToUsdText(found.expectedPico),
    counted_usd: found.countedPico === null ? null : picoToUsdText(found.countedPico),
  }
}
