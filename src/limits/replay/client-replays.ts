import type { Period } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { budgetPeriodOf, type Limit } from '../limit.ts'
import { selectSpent } from '../spent/select-spent.ts'
import { LimitReplay } from './limit-replay.ts'
import type { CallToReplay } from './past-calls.ts'

/** What a limit would have done to the calls of one client. */
export interface ReplayedSums {
  calls: number
  refused: number
  /** What those cost. */
  refusedPico: bigint
  /** What of that a budget would not have been charged. */
  sparedPico: bigint
  /** Milliseconds since 1970; `null`: none was refused. */
  firstRefusedAtMs: number | null
  lastRefusedAtMs: number | null
}

/** What earlier replays say that budgets of clients would not have been charged in these days, by client. */
export type SelectSpared = (
  clientIds: readonly string[],
  days: Period,
) => Promise<ReadonlyMap<string, bigint>>

/** Accounts a statement; more would hold a connection for long. */
const ACCOUNTS = 500

/** One limit over the past calls of many clients. A limit of no client holds for each of them apart. */
export class ClientReplays {
  readonly limit: Limit
  readonly #fromDay: UtcDay
  readonly #without: ReadonlySet<string>
  readonly #selectSpared: SelectSpared | null
  readonly #replays = new Map<string, LimitReplay>()
  #sums = new Map<string, ReplayedSums>()

  /**
   * @param fromDay The day of the first calls.
   * @param without Clients that have a limit of their own in its place.
   * @param selectSpared `null`: it has refused nothing before.
   */
  constructor(
    limit: Limit,
    fromDay: UtcDay,
    without: ReadonlySet<string>,
    selectSpared: SelectSpared | null = null,
  ) {
    this.limit = limit
    this.#fromDay = fromDay
    this.#without = without
    this.#selectSpared = selectSpared
  }

  /** Takes clients in before their calls: with what they had spent of the limit's period before. */
  async open(pool: Postgres, clientIds: Iterable<string>): Promise<void> {
    const { clientId: own } = this.limit
    const missing = [...new Set(clientIds)].filter(
      (id) => !this.#replays.has(id) && !this.#without.has(id) && (own === null || own === id),
    )
    for (let from = 0; from < missing.length; from += ACCOUNTS) {
      const some = missing.slice(from, from + ACCOUNTS)
      const spent = await this.#spentBefore(pool, some)
      for (const [at, id] of some.entries())
        this.#replays.set(id, new LimitReplay(this.limit, spent[at], this.#fromDay))
    }
  }

  /** Whether the call would have been refused. `false`, too, where the limit is not about it. */
  refuses(call: CallToReplay): boolean {
    const replay = this.#replays.get(call.clientId)
    if (replay === undefined || !replay.covers(call)) return false
    const isAdmitted = replay.admits(call)
    if (call.isSettlement) return false
    const sums = this.#sums.get(call.clientId) ?? newSums()
    this.#sums.set(call.clientId, sums)
    sums.calls += 1
    if (isAdmitted) return false
    sums.refused += 1
    sums.refusedPico += call.costPico ?? 0n
    if (replay.charges(call)) sums.sparedPico += call.costPico ?? 0n
    sums.firstRefusedAtMs ??= call.arrivedAtMs
    sums.lastRefusedAtMs = call.arrivedAtMs
    return true
  }

  /** The sums by client since they were last taken. */
  takeSums(): ReadonlyMap<string, ReplayedSums> {
    const sums = this.#sums
    this.#sums = new Map()
    return sums
  }

  async #spentBefore(pool: Postgres, clientIds: readonly string[]): Promise<readonly bigint[]> {
    const { per, since, keyId, formerKeys, model } = this.limit
    const first = per === null ? this.#fromDay : budgetPeriodOf(per, since, this.#fromDay).fromDay
    if (first >= this.#fromDay) return clientIds.map(() => 0n)
    const days = { fromDay: first, toDay: addDays(this.#fromDay, -1) }
    const accounts = clientIds.map((clientId) => ({ clientId, keyId, formerKeys, model, ...days }))
    const { spentPico } = await selectSpent(pool, accounts, [])
    const spared = (await this.#selectSpared?.(clientIds, days)) ?? new Map<string, bigint>()
    return clientIds.map((id, at) => (spentPico[at] ?? 0n) - (spared.get(id) ?? 0n))
  }
}

function newSums(): ReplayedSums {
  return {
    ...{ calls: 0, refused: 0, refusedPico: 0n, sparedPico: 0n },
    ...{ firstRefusedAtMs: null, lastRefusedAtMs: null },
  }
}

/** Clients that have a limit of their own in the place of this one; none where it is of a client. */
export async function selectClientsWithOwn(
  pool: Postgres,
  { clientId, kind, per, model }: Limit,
): Promise<ReadonlySet<string>> {
  if (clientId !== null) return new Set()
  const { rows } = await pool.query<{ client_id: string }>(
    `select distinct client_id from ${SCHEMA}.limits
     where removed_at is null and client_id is not null and key_id is null and axis is null and not soft
       and kind = $1 and per is not distinct from $2 and model is not distinct from $3`,
    [kind, per, model],
  )
  return new Set(rows.map(({ client_id: id }) => id))
}
