import type { CallRecord, OpenCall } from '../../../call/call-record.ts'
import type { Logger } from '../../../lib/log.ts'
import { atMostEvery, type Gate } from '../../../lib/throttle.ts'

/** A key that may use some paths and not others would otherwise have a line for each call. */
const AGAIN_AFTER_MS = 60_000
const AGAIN_AFTER_AT_MOST_MS = 3_600_000

interface State {
  readonly gate: Gate
  isRefused: boolean
  /** The refusal has its line. */
  isSaid: boolean
}

/** Says in the log when an upstream begins to refuse the gateway's credential, and when it takes it again. */
export class CredentialLog {
  readonly #log: Pick<Logger, 'error' | 'info'>
  /** By upstream; empty while none has ever refused. */
  readonly #states = new Map<string, State>()

  constructor(log: Pick<Logger, 'error' | 'info'>) {
    this.#log = log
  }

  refused({ upstream, provider }: OpenCall): void {
    const state = this.#states.get(upstream) ?? {
      gate: atMostEvery(AGAIN_AFTER_MS, AGAIN_AFTER_AT_MOST_MS),
      isRefused: false,
      isSaid: false,
    }
    this.#states.set(upstream, state)
    if (state.isRefused) return
    state.isRefused = true
    state.isSaid = state.gate.passes()
    if (!state.isSaid) return
    this.#log.error(
      { event: 'upstream.credential_refused', upstream, provider },
      'an upstream refuses the credential of this gateway: renew its API key',
    )
  }

  /** A call has ended, however it did. */
  ended({ upstream, status }: CallRecord): void {
    if (this.#states.size === 0) return
    const state = this.#states.get(upstream)
    if (state?.isRefused !== true || status === null || status >= 300) return
    state.isRefused = false
    if (!state.isSaid) return
    this.#log.info(
      { event: 'upstream.credential_taken', upstream },
      'an upstream takes the credential of this gateway again',
    )
  }
}
