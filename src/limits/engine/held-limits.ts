import type { KeptReserve } from '../../call/call-ports.ts'
import type { CallRecord, CallUse, JobUse } from '../../call/call-record.ts'
import type { Limit } from '../limit.ts'
import type { CallCharge, ExpectedUse, LimitRefusal, Reservation } from './limiter.ts'

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
const NO_JOBS: readonly JobUse[] = []

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

  /** An attempt may have cost `costPico`: that is held beside the rest. False: budgets have no room for another one. */
  spend(costPico: bigint): boolean | Promise<boolean> {
    return this.#reservation.spend(costPico)
  }

  /** Whether it is one of the limits that the call was admitted by. */
  holds(limit: Limit): boolean {
    return this.#reservation.holds(limit)
  }

  /** What the call holds of budgets: as it was estimated, and what a session has cost beyond that. Pico-USD. */
  get reservedPico(): bigint {
    return this.#reservation.reservedPico
  }

  /**
   * The call's record is in the journal: what it used counts in place of what was reserved. Without a number
   * the record is in no journal (yet). Its cost comes with the totals, if ever, and `release` gives all back.
   *
   * @param kept What is held on, as the cost of the call, or of a job that it made, is not known.
   * @param prompt Asked only if something is learned from the call.
   */
  recorded(
    record: CallRecord,
    sequence: number,
    kept: KeptReserve | null = null,
    prompt: LearntPrompt = HIDDEN_PROMPT,
  ): void {
    if (sequence > 0) {
      const own = kept?.by === 'call' ? [this.#chargeWithoutCost(record, kept)] : chargesOf(record)
      const ofAttempts = record.jobs?.flatMap(chargeOfAttempt) ?? NO_CHARGES
      const charges = [...own, ...chargesBeside(record), ...ofAttempts]
      this.#reservation.settle(charges, sequence, kept?.by === 'job' ? kept.pico : 0n)
    }
    this.#uses.learn(this.#expected, record, prompt)
  }

  /** What it used and cost is not known, so it keeps what it had taken. */
  #chargeWithoutCost(record: CallRecord, { pico }: KeptReserve): CallCharge {
    const { tokens, cachedTokens } = usedBy(record)
    return {
      model: record.model,
      costPico: pico,
      tokens: Math.max(tokens, this.#expected.tokens),
      cachedTokens,
    }
  }

  release(): void {
    this.#reservation.release()
  }
}

/**
 * What a record adds to the totals for sure. A fetched response counts only the first time, and so do jobs that an
 * answer lists: only Postgres knows whether this is the first. To charge them here would refuse a client that polls.
 */
function chargesOf(record: CallRecord): readonly CallCharge[] {
  const { responseUse, responseId, model, costPico } = record
  const ended = record.method === 'GET' ? NO_JOBS : (record.jobs?.filter(isJob) ?? NO_JOBS)
  if (ended.length > 0) return ended.flatMap(chargeOfEnded)
  if (responseUse === 'fetched' && responseId !== null) return NO_CHARGES
  const used = usedBy(record)
  const cost = costPico === null ? 0n : BigInt(costPico)
  if (used.tokens === 0 && cost === 0n) return NO_CHARGES
  return [{ model, costPico: cost, ...used }]
}

/** Its cost is in that of the session, so it is spent of no budget that has that already. */
function chargesBeside({ model, beside = [] }: CallRecord): readonly CallCharge[] {
  return beside.map((part) => ({
    model: part.model,
    besideOf: model,
    costPico: BigInt(part.costPico),
    tokens: 0,
    cachedTokens: 0,
  }))
}

/** Fetched before the call ended it, and for the first time. Its tokens were used when it ran. */
function chargeOfEnded({ model, costPico }: CallUse): readonly CallCharge[] {
  return costPico === null ? NO_CHARGES : [{ model, costPico: BigInt(costPico), tokens: 0, cachedTokens: 0 }]
}

function isJob({ attempt }: JobUse): boolean {
  return attempt === undefined
}

/** What an upstream may bill that did not answer the call. */
function chargeOfAttempt(use: JobUse): readonly CallCharge[] {
  if (isJob(use)) return NO_CHARGES
  return [{ model: use.model, costPico: BigInt(use.costPico ?? '0'), ...usedBy(use) }]
}

function usedBy({ usage }: Pick<CallUse, 'usage'>): Pick<CallCharge, 'tokens' | 'cachedTokens'> {
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  return { tokens, cachedTokens: usage.cacheReadTokens ?? 0 }
}

/** Where an answer goes: closed once the client has left. */
export interface AnsweredClient {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  removeListener(event: 'close', listener: () => void): unknown
}

/**
 * What `admitted` comes to, unless the client leaves before: then `gone`, at once, and what comes is given back.
 * Rejects as `admitted` does.
 */
export function awaitLimits(
  admitted: Promise<Reservation | LimitRefusal | null>,
  client: AnsweredClient,
): Promise<Reservation | LimitRefusal | 'gone' | null> {
  return new Promise((resolve, reject) => {
    let isGone = client.destroyed
    const onClose = () => {
      isGone = true
      resolve('gone')
    }
    if (isGone) onClose()
    else client.once('close', onClose)
    admitted.then((found) => {
      client.removeListener('close', onClose)
      if (!isGone) resolve(found)
      else if (isReservation(found)) found.release()
    }, reject)
  })
}

/** A reservation beside that of the call's record, which charges what it cost: its request is used, and no money. */
export function endUncharged(reservation: Reservation): void {
  reservation.settle(NO_CHARGES, 0)
  reservation.release()
}

export function isReservation(found: Reservation | LimitRefusal | null): found is Reservation {
  return found !== null && !('error' in found)
}
