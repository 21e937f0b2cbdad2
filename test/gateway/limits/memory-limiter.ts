import type { AdmissionLimits } from '../../../src/gateway/admission/admission.ts'
import type {
  CallCharge,
  CallToLimit,
  ExpectedUse,
  Limiter,
  LimitRefusal,
  RateHeader,
  RateHeaders,
  Reservation,
} from '../../../src/limits/engine/limiter.ts'

/** What calls did with what they held, in the order in which it happened. */
export type Settled = readonly [sequence: number, charges: readonly CallCharge[]]

/** Limits that expect the same of every call. */
export function limitsOf(limiter: Limiter, expected: Partial<ExpectedUse> = {}): AdmissionLimits {
  const use = { pico: 1_000n, tokens: 100, isPriced: true, ...expected }
  const upper = { inputTokens: use.tokens, outputTokens: use.tokens }
  return { limiter, expectedUse: () => use, upperUse: () => upper, learn: () => {} }
}

const NO_RATES: RateHeaders = { requests: null, tokens: null }

/** A limiter of one process, without a store, whose answers a test decides. It throws where it is used wrongly. */
export class MemoryLimiter implements Limiter {
  reserved = 0
  reservedPico = 0n
  rested = 0
  readonly admitted: CallToLimit[] = []
  readonly settled: Settled[] = []
  readonly progressed: bigint[] = []
  refusal: LimitRefusal | null = null
  unpricedRefused = false
  rateFigures: RateHeaders = NO_RATES
  isLimited = true
  /** What sessions may cost together, before they are ended. */
  budgetPico: bigint | null = null
  /** Limits of models that run beside others are used up. */
  spentBeside = false
  /** Sessions of this model are ended. */
  spentModel: string | null = null
  #isHeld = false
  #waiting: (() => void)[] = []

  /** From now on calls wait, until `go`. */
  hold(): void {
    this.#isHeld = true
  }

  go(): void {
    this.#isHeld = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go()
  }

  get waiting(): number {
    return this.#waiting.length
  }

  limits(): boolean {
    return this.isLimited
  }

  refusesUnpriced(): boolean {
    return this.unpricedRefused
  }

  admit(call: CallToLimit): Reservation | LimitRefusal | Promise<Reservation | LimitRefusal> {
    if (!this.#isHeld) return this.#take(call)
    return new Promise((resolve) => this.#waiting.push(() => resolve(this.#take(call))))
  }

  rates(): RateHeaders {
    return this.rateFigures
  }

  rateOf(): RateHeader | null {
    return null
  }

  stats() {
    return { exchanges: 0, exchangeFailures: 0, waiting: this.waiting, isDegraded: false }
  }

  #take(call: CallToLimit): Reservation | LimitRefusal {
    if (this.refusal !== null) return this.refusal
    if (this.spentBeside && call.isHeld !== undefined) return SPENT
    this.admitted.push(call)
    this.reserved += 1
    let held = call.estimatedPico
    let state: 'held' | 'settled' | 'released' = 'held'
    this.reservedPico += held
    return {
      get reservedPico() {
        return held
      },
      holds: ({ id }) => id === 'own',
      progress: (costPico) => {
        if (state !== 'held') throw new Error(`a call makes progress that is ${state}`)
        this.progressed.push(costPico)
        this.reservedPico += costPico - held
        held = costPico
        if (this.spentModel !== null && call.model === this.spentModel) return SPENT
        return this.budgetPico !== null && this.reservedPico >= this.budgetPico ? SPENT : null
      },
      spend: (costPico) => {
        if (this.budgetPico !== null && this.reservedPico + costPico > this.budgetPico) return false
        this.reservedPico += costPico
        held += costPico
        return true
      },
      rest: () => {
        this.rested += 1
      },
      settle: (charges, sequence) => {
        if (state !== 'held') throw new Error(`a call is settled that is ${state}`)
        state = 'settled'
        this.settled.push([sequence, charges])
        this.reservedPico -= held
      },
      release: () => {
        if (state === 'released') throw new Error('a call is released twice')
        if (state === 'held') this.reservedPico -= held
        state = 'released'
        this.reserved -= 1
      },
    }
  }
}

export const SPENT: LimitRefusal = {
  error: 'budget_exceeded',
  reason: 'budget',
  limitId: '1',
  detail: { message: 'The budget of 1 USD per day is spent until 2030-02-01T00:00:00Z.' },
}

export const TOO_MANY: LimitRefusal = {
  error: 'rate_limit_exceeded',
  reason: 'requests',
  limitId: '1',
  detail: { message: 'No request is left in this minute.', headers: { 'retry-after': '13' } },
}
