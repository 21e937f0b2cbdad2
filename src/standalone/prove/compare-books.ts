import type { CallTrace } from './load.ts'
import type { PlannedCall } from './planned-calls.ts'
import type { StandInLedger } from './stand-in-ledger.ts'

/** One call as a gateway has counted it. */
export interface BookedCall {
  /** `null`: which call it was is unknown. */
  readonly number: number | null
  readonly input: number | null
  readonly output: number | null
  /** Integer pico-USD; `null`: it has no price there. */
  readonly costPico: bigint | null
}

/** Whose books are compared: the clients', the provider's and the gateway's. */
export interface Books {
  readonly traces: readonly CallTrace[]
  readonly standIn: StandInLedger
  readonly counted: readonly BookedCall[]
  readonly plan: (number: number) => PlannedCall
  /** A gateway with numbers in floating point may be off by this share of a cost; 0: exact. */
  readonly tolerance: number
}

export interface Comparison {
  /** Calls that reached the provider, or whose client has an answer. */
  readonly seen: number
  readonly counted: number
  readonly lost: readonly number[]
  readonly doubled: readonly number[]
  /** Whole answers that were counted with other tokens, or another cost. */
  readonly wrong: readonly string[]
  /** Rows of no call of ours. */
  readonly strange: number
  readonly whole: number
  readonly expectedPico: bigint
  /** `null`: no whole answer has a price there. */
  readonly countedPico: bigint | null
}

/**
 * A call that reached the provider, or that its client was answered, is to be counted once, whatever was killed. One
 * whose client has the whole answer is to have exactly its tokens and cost.
 */
export function compareBooks({ traces, standIn, counted, plan, tolerance }: Books): Comparison {
  const rows = Map.groupBy(counted, ({ number }) => number)
  const answered = traces.filter(({ answer, callId }) => answer === 'whole' || callId !== null)
  const seen = new Set([...standIn.got.keys(), ...answered.map(({ number }) => number)])
  const wrong: string[] = []
  let expectedPico = 0n
  let countedPico: bigint | null = null
  const whole = traces.filter(({ answer }) => answer === 'whole')
  for (const { number } of whole) {
    const { input, output, costPico } = plan(number)
    expectedPico += costPico
    const [row] = rows.get(number) ?? []
    if (row === undefined) continue
    if (row.costPico !== null) countedPico = (countedPico ?? 0n) + row.costPico
    const isRight = row.input === input && row.output === output && isNear(row.costPico, costPico, tolerance)
    if (!isRight)
      wrong.push(
        `call ${number}: ${row.input} in, ${row.output} out, ${row.costPico} pico-USD in place of ${input}, ${output}, ${costPico}`,
      )
  }
  return {
    seen: seen.size,
    counted: counted.length,
    lost: [...seen].filter((number) => !rows.has(number)),
    doubled: [...rows].flatMap(([number, { length }]) => (number !== null && length > 1 ? [number] : [])),
    wrong,
    strange: counted.filter(({ number }) => number === null || !seen.has(number)).length,
    whole: whole.length,
    expectedPico,
    countedPico,
  }
}

function isNear(counted: bigint | null, expected: bigint, tolerance: number): boolean {
  if (counted === null) return false
  const off = counted > expected ? counted - expected : expected - counted
  return off === 0n || (tolerance > 0 && Number(off) <= Math.max(1, tolerance * Number(expected)))
}
