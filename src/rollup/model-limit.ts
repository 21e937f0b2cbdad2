import type { CallRecord } from '../call/call-record.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import { selectModelBudgets } from '../limits/table/model-budgets.ts'
import type { PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { MODELS_PER_CLIENT_AND_DAY, OTHER_MODELS_TOTAL } from '../usage/total-by-day.ts'

/** Pairs of client and day remembered at most; two days of as many busy clients. The one not used longest goes first. */
const MAX_REMEMBERED = 20_000

/** Bounds how many model names a client can bring into the totals of a day. */
export interface ModelLimit {
  /**
   * The records with the name that each is totalled under: its own, or `(other)` where the client has had
   * `MODELS_PER_CLIENT_AND_DAY` others that day, or the name of the budgets that cover it: else a client that makes
   * names up could hide from the budget of a model what it spends. A new name is decided by what the totals hold at that moment, without
   * a lock that another shard would wait for. A client's records lie in one shard, where one transaction comes after
   * the other, so the limit holds. Shards that count records of one client at the same moment, as after a change of
   * their number, do not see each other's new names: each may then bring in as many as the limit allows.
   */
  apply<R extends CallRecord>(session: PostgresSession, records: readonly R[]): Promise<LimitedModels<R>>
}

export interface LimitedModels<R extends CallRecord = CallRecord> {
  readonly records: readonly R[]
  /** To be called after the commit: only then are the names certain. */
  readonly remember: () => void
}

export function createModelLimit(
  limit = MODELS_PER_CLIENT_AND_DAY,
  maxRemembered = MAX_REMEMBERED,
): ModelLimit {
  /**
   * By client and day, names known to be in the totals, without `(other)`; the last used last. Names never leave a day,
   * so it is never wrong, only incomplete.
   */
  const known = new Map<string, ReadonlySet<string>>()

  return {
    async apply(session, records) {
      const used = new Map<string, ReadonlySet<string>>()
      const undecided = new Map<string, ClientDay>()
      for (const { clientId, arrivedAtMs, model } of records) {
        const day = utcDayOf(arrivedAtMs)
        const key = keyOf(clientId, day)
        let names = used.get(key)
        if (names === undefined) {
          names = known.get(key) ?? NO_NAMES
          used.set(key, names)
        }
        if (names.has(model) || names.size >= limit || model === OTHER_MODELS_TOTAL) continue
        undecided.set(key, { clientId, day })
      }
      if (undecided.size === 0 && isWithin(records, used)) return { records, remember: () => touch(used) }

      const added = new Map<string, Set<string>>()
      for (const key of undecided.keys()) added.set(key, new Set())
      if (undecided.size > 0) {
        for (const { clientId, day, model } of await selectModels(session, [...undecided.values()])) {
          if (model !== OTHER_MODELS_TOTAL) added.get(keyOf(clientId, day))?.add(model)
        }
      }
      const beyond = new Set<string>()
      const own = records.map((record) => {
        const key = keyOf(record.clientId, utcDayOf(record.arrivedAtMs))
        const names = added.get(key)
        if (record.model === OTHER_MODELS_TOTAL || (names ?? used.get(key))?.has(record.model)) return true
        if (names === undefined || names.size >= limit) {
          beyond.add(record.clientId)
          return false
        }
        names.add(record.model)
        return true
      })
      const budgets = beyond.size === 0 ? null : await selectModelBudgets(session, [...beyond])
      const limited = records.map((record, index) => {
        if (own[index] === true) return record
        return { ...record, model: budgets?.covering(record.clientId, record.model) ?? OTHER_MODELS_TOTAL }
      })
      const remember = () => {
        for (const [key, names] of added) used.set(key, names)
        touch(used)
      }
      return { records: limited, remember }
    },
  }

  /** Makes these the last used, and drops those not used longest. */
  function touch(used: ReadonlyMap<string, ReadonlySet<string>>): void {
    for (const [key, names] of used) {
      known.delete(key)
      known.set(key, names)
    }
    for (const key of known.keys()) {
      if (known.size <= maxRemembered) return
      known.delete(key)
    }
  }
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Nearly every batch: no record of it has a name beyond the limit. */
function isWithin(records: readonly CallRecord[], names: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  return records.every(
    ({ clientId, arrivedAtMs, model }) =>
      names.get(keyOf(clientId, utcDayOf(arrivedAtMs)))?.has(model) === true || model === OTHER_MODELS_TOTAL,
  )
}

function keyOf(clientId: string, day: string): string {
  return `${day} ${clientId}`
}

/** A client on a day: the models of its totals are limited. */
interface ClientDay {
  readonly clientId: string
  readonly day: UtcDay
}

/** The models that these clients have in the totals of these days. */
async function selectModels(
  session: PostgresSession,
  clientDays: readonly ClientDay[],
): Promise<(ClientDay & { readonly model: string })[]> {
  const { rows } = await session.query<{ client_id: string; day: UtcDay; model: string }>(
    `select distinct u.client_id, u.day, u.model
     from unnest($1::text[], $2::date[]) as p (client_id, day)
     join ${SCHEMA}.daily_usage u on u.client_id = p.client_id and u.day = p.day`,
    [clientDays.map(({ clientId }) => clientId), clientDays.map(({ day }) => day)],
  )
  return rows.map((row) => ({ clientId: row.client_id, day: row.day, model: row.model }))
}
