import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Note } from './load.ts'

/** Follows each answered call until its row is in `calls`. */
export interface LagWatch {
  /** A call with an id ended. */
  add(note: Note): void
  /** Milliseconds from the end of each counted call to when its row was seen, by call number. */
  readonly lagMs: ReadonlyMap<number, number>
  /** Calls whose rows have not been seen yet. */
  readonly waiting: number
  /** Of the calls that `isOne` picks, whether all rows were seen. */
  haveAll(isOne: (note: Note) => boolean): boolean
  stop(): Promise<void>
}

const LOOK_EVERY_MS = 250
const AT_A_TIME = 5_000

export function startLagWatch(pool: Postgres): LagWatch {
  const waiting = new Map<string, Note>()
  const lagMs = new Map<number, number>()
  const ended = new AbortController()

  async function look(): Promise<void> {
    const ids = [...waiting.keys()].slice(0, AT_A_TIME)
    if (ids.length === 0) return
    const { rows } = await pool.query<{ call_id: string }>(
      'select call_id from tallygate.calls where call_id = any($1::uuid[])',
      [ids],
    )
    const seenAt = performance.now()
    for (const { call_id } of rows) {
      const note = waiting.get(call_id)
      if (note === undefined) continue
      waiting.delete(call_id)
      lagMs.set(note.number, seenAt - note.endedMs)
    }
    // Those that were not there go to the end, so that the ones behind them are looked for as well.
    for (const id of ids) {
      const note = waiting.get(id)
      if (note === undefined) continue
      waiting.delete(id)
      waiting.set(id, note)
    }
  }

  const looking = (async () => {
    while (!ended.signal.aborted) {
      await look().catch(() => {}) // Postgres is away just now
      await delay(LOOK_EVERY_MS, undefined, { signal: ended.signal }).catch(() => {})
    }
  })()

  return {
    add(note) {
      if (note.callId !== null && note.status === 200) waiting.set(note.callId, note)
    },
    lagMs,
    get waiting() {
      return waiting.size
    },
    haveAll(isOne) {
      for (const note of waiting.values()) if (isOne(note)) return false
      return true
    },
    async stop() {
      ended.abort()
      await looking
    },
  }
}
