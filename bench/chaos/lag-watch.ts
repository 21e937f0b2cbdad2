import { setTimeout as delay } from 'node:timers/promises'
import type { CallTrace } from '../../src/standalone/prove/load.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'

/** Follows each answered call until its row is in `calls`. */
export interface LagWatch {
  /** A call with an id ended. */
  add(trace: CallTrace): void
  /** Milliseconds from the end of each counted call to when its row was seen, by call number. */
  readonly lagMs: ReadonlyMap<number, number>
  /** Calls whose rows have not been seen yet. */
  readonly waiting: number
  /** Of the calls that `isOne` picks, whether all rows were seen. */
  haveAll(isOne: (trace: CallTrace) => boolean): boolean
  stop(): Promise<void>
}

const CHECK_EVERY_MS = 250
const AT_A_TIME = 5_000

export function startLagWatch(pool: Postgres): LagWatch {
  const waiting = new Map<string, CallTrace>()
  const lagMs = new Map<number, number>()
  const ended = new AbortController()

  async function check(): Promise<void> {
    const ids = [...waiting.keys()].slice(0, AT_A_TIME)
    if (ids.length === 0) return
    const { rows } = await pool.query<{ call_id: string }>(
      'select call_id from tallygate.calls where call_id = any($1::uuid[])',
      [ids],
    )
    const seenAt = performance.now()
    for (const { call_id } of rows) {
      const trace = waiting.get(call_id)
      if (trace === undefined) continue
      waiting.delete(call_id)
      lagMs.set(trace.number, seenAt - trace.endedMs)
    }
    // Those that were not there go to the end, so that the ones behind them are looked for as well.
    for (const id of ids) {
      const trace = waiting.get(id)
      if (trace === undefined) continue
      waiting.delete(id)
      waiting.set(id, trace)
    }
  }

  const checking = (async () => {
    while (!ended.signal.aborted) {
      await check().catch(() => {}) // Postgres is away just now
      await delay(CHECK_EVERY_MS, undefined, { signal: ended.signal }).catch(() => {})
    }
  })()

  return {
    add(trace) {
      if (trace.callId !== null && trace.status === 200) waiting.set(trace.callId, trace)
    },
    lagMs,
    get waiting() {
      return waiting.size
    },
    haveAll(isOne) {
      for (const trace of waiting.values()) if (isOne(trace)) return false
      return true
    },
    async stop() {
      ended.abort()
      await checking
    },
  }
}
