import type { CallRecord } from '../../../call/call-record.ts'
import type { CallCharge, ExpectedUse, LimitRefusal, Reservation } from '../limited-call.ts'

/** Learns from what calls used how much calls like them may use. */
export interface ExpectedUses {
  learn(expected: ExpectedUse, record: CallRecord, prompt: LearntPrompt): void
}

/** What can be said of a call's prompt once its record is made. */
export interface LearntPrompt {
  /** Whether the request's bytes determine it, for what `model` runs beside the one asked for. */
  showsPrompt(model: string | null): boolean
}

/** Of what is not one request: its bytes determine nothing. */
const HIDDEN_PROMPT: LearntPrompt = { showsPrompt: () => false }

const NO_CHARGES: readonly CallCharge[] = []

/** What an admitted call holds of its client's limits, from the stage that took it to the end of the call. */
export class HeldLimits {
  readonly #reservation: Reservation
  readonly #expected: ExpectedUse
  readonly #uses: ExpectedUses

  constructor(reservation: Reservation, expected: ExpectedUse, uses: ExpectedUses) {
    this.#reservation = reservation
    this.#expected = expected
    this.#uses = uses
  }

  /** A session has cost `costPico` so far. Not `null`: it has to end. */
  progress(costPico: bigint): LimitRefusal | null {
    return this.#reservation.progress(costPico)
  }

  /** What the call may cost, as it was estimated: pico-USD. */
  get reservedPico(): bigint {
    return this.#expected.pico
  }

  /**
   * The call's record is in the journal: what it used counts in place of what was reserved. Without a number
   * the record is in no journal (yet). Its cost comes with the totals, if ever, and `release` gives all back.
   *
   * @param jobPico What a job reserves from now on that the call has made: pico-USD.
   * @param prompt Asked only if something is learned from the call.
   */
  recorded(record: CallRecord, sequence: number, jobPico = 0n, prompt: LearntPrompt = HIDDEN_PROMPT): void {
    if (sequence > 0) this.#reservation.settle(chargesOf(record), sequence, jobPico)
    this.#uses.learn(this.#expected, record, prompt)
  }

  release(): void {
    this.#reservation.release()
  }
}

/**
 * What a record adds to the totals for sure. A fetched response counts only the first time, and so do jobs that an
 * answer lists: only Postgres knows whether this is the first. To charge them here would refuse a client that polls.
 */
function chargesOf({ responseUse, responseId, model, costPico, usage }: CallRecord): readonly CallCharge[] {
  if (responseUse === 'fetched' && responseId !== null) return NO_CHARGES
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  const cost = costPico === null ? 0n : BigInt(costPico)
  if (tokens === 0 && cost === 0n) return NO_CHARGES
  return [{ model, costPico: cost, tokens, cachedTokens: usage.cacheReadTokens ?? 0 }]
}
