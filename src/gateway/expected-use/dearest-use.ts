import type { CallRecord } from '../../call/call-record.ts'
import type { ExpectedUse } from '../../limits/engine/limiter.ts'
import type { Route } from '../routing/route.ts'

interface UseAtTarget {
  readonly candidate: Route
  readonly estimate: ExpectedUse
}

/** What a call may use that one of several targets answers: it has a price only if it has one at each of them. */
export class DearestUse implements ExpectedUse {
  readonly pico: bigint
  readonly tokens: number
  readonly isPriced: boolean
  readonly #at: readonly UseAtTarget[]

  constructor(at: readonly UseAtTarget[]) {
    this.#at = at
    this.pico = at.reduce((most, { estimate }) => (estimate.pico > most ? estimate.pico : most), 0n)
    this.tokens = Math.max(0, ...at.map(({ estimate }) => estimate.tokens))
    this.isPriced = at.every(({ estimate }) => estimate.isPriced)
  }

  /** The first target that has no price, by the model's name there. */
  get unpricedModel(): string | null {
    const found = this.#at.find(({ estimate }) => !estimate.isPriced)
    return found === undefined ? null : modelAt(found)
  }

  /** The estimate for the target that answered; `null`: none did. */
  of({ upstream, requestedModel }: Pick<CallRecord, 'upstream' | 'requestedModel'>): ExpectedUse | null {
    const found = this.#at.find(
      (one) => one.candidate.upstream.name === upstream && modelAt(one) === requestedModel,
    )
    return found?.estimate ?? null
  }
}

function modelAt({ candidate: { modelInPath, choice } }: UseAtTarget): string | null {
  return modelInPath ?? choice?.model ?? null
}
