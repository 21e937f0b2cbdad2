import type { CallRecord } from '../call/call-record.ts'
import { utcDayOf } from '../domain/utc-day.ts'
import { lockClientDays } from '../store/connection/advisory-locks.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { type ClientDay, selectModels } from '../store/ledger/client-models.ts'
import { MODELS_PER_CLIENT_AND_DAY, OTHER_MODELS_TOTAL } from '../usage/total-by-day.ts'

/** Pairs of client and day remembered at most; one day of as many busy clients. */
const MAX_REMEMBERED = 20_000

/** Bounds how many model names a client can bring into the totals of a day. */
export interface ModelLimit {
  /**
   * The records with the name that each is totalled under: its own, or `(other)` where the client has had
   * `MODELS_PER_CLIENT_AND_DAY` others that day. Decided in the transaction that adds them, so that the limit
   * holds over all shards.
   */
  apply<R extends CallRecord>(session: PostgresSession, records: readonly R[]): Promise<LimitedModels<R>>
}

export interface LimitedModels<R extends CallRecord = CallRecord> {
  readonly records: readonly R[]
  /** To be called after the commit: only then are the names certain. */
  readonly remember: () => void
}

export function createModelLimit(limit = MODELS_PER_CLIENT_AND_DAY): ModelLimit {
  /** By client and day, the names known to be in the totals, without `(other)`. Names never leave a day. */
  const known = new Map<string, ReadonlySet<string>>()

  return {
    async apply(session, records) {
      const undecided = new Map<string, ClientDay>()
      for (const { clientId, arrivedAtMs, model } of records) {
        const day = utcDayOf(arrivedAtMs)
        const names = known.get(keyOf(clientId, day))
        const decided = names !== undefined && (names.has(model) || names.size >= limit)
        if (!decided && model !== OTHER_MODELS_TOTAL) undecided.set(keyOf(clientId, day), { clientId, day })
      }
      const added = new Map<string, Set<string>>()
      if (undecided.size > 0) {
        const clientDays = [...undecided.values()]
        await lockClientDays(session, clientDays)
        for (const key of undecided.keys()) added.set(key, new Set())
        for (const { clientId, day, model } of await selectModels(session, clientDays)) {
          if (model !== OTHER_MODELS_TOTAL) added.get(keyOf(clientId, day))?.add(model)
        }
      }
      const limited = records.map((record) => {
        const key = keyOf(record.clientId, utcDayOf(record.arrivedAtMs))
        const names = added.get(key)
        if (record.model === OTHER_MODELS_TOTAL || (names ?? known.get(key))?.has(record.model)) return record
        if (names === undefined || names.size >= limit) return { ...record, model: OTHER_MODELS_TOTAL }
        names.add(record.model)
        return record
      })
      const remember = () => {
        if (known.size + added.size > MAX_REMEMBERED) known.clear()
        for (const [key, names] of added) known.set(key, names)
      }
      return { records: limited, remember }
    },
  }
}

function keyOf(clientId: string, day: string): string {
  return `${day} ${clientId}`
}
