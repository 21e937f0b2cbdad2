import { withinDeadline } from '../../lib/deadline.ts'
import { type GatewayLag, LATE_MS } from '../../store/ledger/gateway-journals.ts'

/** An answer of Postgres serves all queries of so long. */
const KEEP_MS = 1_000
/** A query waits so long in all, for whatever store is slow. */
const ANSWER_MS = 1_000

export interface LateGatewaysOptions {
  /** How long the oldest record of this process has waited, in milliseconds; 0: none does. */
  readonly ownMs: () => number
  /** All gateway processes that run, by what they said last. */
  readonly selectLags: () => Promise<readonly GatewayLag[]>
}

/** The gateway processes that run, and whether records wait for long at any. */
export class LateGateways {
  readonly #options: LateGatewaysOptions
  #readAtMs = Number.NEGATIVE_INFINITY
  #lags: Promise<readonly GatewayLag[]> = Promise.resolve([])

  constructor(options: LateGatewaysOptions) {
    this.#options = options
  }

  /** Of the oldest record, in milliseconds; `null`: none waits for long. Rejects without Postgres, after a second at most. */
  async readMs(): Promise<number | null> {
    const lags = await this.#read()
    const others = lags.flatMap(({ oldestMs }) => (oldestMs < LATE_MS ? [] : [oldestMs]))
    // They have grown older since they were read.
    const sinceMs = Math.max(performance.now() - this.#readAtMs, 0)
    const oldestMs = Math.max(this.#options.ownMs(), ...others.map((ms) => ms + sinceMs))
    return oldestMs >= LATE_MS ? oldestMs : null
  }

  /** The names of all processes. Rejects alike. */
  async readNames(): Promise<readonly string[]> {
    return (await this.#read()).map(({ gateway }) => gateway)
  }

  async #read(): Promise<readonly GatewayLag[]> {
    const nowMs = performance.now()
    if (nowMs - this.#readAtMs >= KEEP_MS) {
      this.#readAtMs = nowMs
      this.#lags = this.#options.selectLags()
      // An answer that failed serves no other query.
      this.#lags.catch(() => {
        this.#readAtMs = Number.NEGATIVE_INFINITY
      })
    }
    return await withinDeadline(this.#lags, ANSWER_MS)
  }
}
