import type { Period } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { selectClientNames } from '../../keys/clients.ts'
import {
  inSnapshot,
  type Postgres,
  type PostgresSession,
  queryLong,
} from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, columnsOf, fieldsFrom, type StoredField } from '../../usage/calls/call-columns.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { selectUsageDays } from '../../usage/days/usage-days.ts'
import { couldBePriced } from '../../usage/unpriced-use.ts'
import { budgetPeriodOf, type Limit } from '../limit.ts'
import { selectSpent } from '../spent/select-spent.ts'
import { LimitReplay, type PastUse } from './limit-replay.ts'

/** What a limit would have done to the calls of one client. */
export interface ReplayedClient {
  readonly clientId: string
  client: string | null
  calls: number
  refused: number
  /** What those cost. */
  refusedPico: bigint
  /** The first one: milliseconds since 1970; `null`: none. */
  firstRefusedAtMs: number | null
}

export interface ReplayRefusal {
  readonly callId: string
  readonly clientId: string
  readonly arrivedAtMs: number
}

export interface Replayed {
  readonly clients: readonly ReplayedClient[]
  /** The first ones, in the order of their arrival. */
  readonly refused: readonly ReplayRefusal[]
  /** Days with use of which no calls are kept. */
  readonly daysWithoutCalls: readonly UtcDay[]
}

const MOST_NAMED = 100
const PAGE = 5_000

const FIELDS = [
  'callId',
  'arrivedAtMs',
  'clientId',
  'keyId',
  'requestedModel',
  'model',
  'usage',
  'costPico',
  'unpricedReason',
  'latencyUs',
] as const satisfies readonly StoredField[]

/** Calls of a day, in the order of their arrival. `$2`: of one client; `null`: of all. */
const DECLARE = `declare replayed no scroll cursor for
  select ${columnsOf(FIELDS)}, told_by from ${SCHEMA}.calls c
  where day = $1 and client_id = coalesce($2, client_id) order by arrived_at, call_id`

/**
 * Replays a limit over the stored calls of a period. A limit of no client holds for each client apart.
 *
 * @param without Clients that have a limit of their own in its place.
 */
export async function replayLimit(
  pool: Postgres,
  limit: Limit,
  { fromDay, toDay }: Period,
  without: ReadonlySet<string>,
  onProgress: (day: UtcDay, calls: number) => void,
): Promise<Replayed> {
  const replays = new Map<string, LimitReplay>()
  const clients = new Map<string, ReplayedClient>()
  const refused: ReplayRefusal[] = []
  const daysWithoutCalls: UtcDay[] = []
  const kept = await selectCallDays(pool)
  let calls = 0
  const take = async (clientId: string, call: StoredCall): Promise<void> => {
    const replay = replays.get(clientId) ?? (await openReplay(pool, limit, clientId, fromDay))
    replays.set(clientId, replay)
    if (!replay.covers(call)) return
    const isAdmitted = replay.admits(call)
    if (call.isSettlement) return
    const sums = clients.get(clientId) ?? newClient(clientId)
    clients.set(clientId, sums)
    calls += 1
    sums.calls += 1
    if (isAdmitted) return
    sums.refused += 1
    sums.refusedPico += call.costPico ?? 0n
    sums.firstRefusedAtMs ??= call.arrivedAtMs
    if (refused.length < MOST_NAMED)
      refused.push({ callId: call.callId, clientId, arrivedAtMs: call.arrivedAtMs })
  }
  for (const day of await selectUsageDays(pool, fromDay, toDay)) {
    if (!kept.has(day)) {
      daysWithoutCalls.push(day)
      continue
    }
    await inSnapshot(pool, async (session) => {
      for await (const rows of readCalls(session, day, limit.clientId))
        for (const row of rows) {
          const call = storedCall(row)
          if (!without.has(call.clientId)) await take(call.clientId, call)
        }
    })
    onProgress(day, calls)
  }
  const names = await selectClientNames(pool, clients.keys())
  for (const sums of clients.values()) sums.client = names.get(sums.clientId) ?? null
  return { clients: [...clients.values()], refused, daysWithoutCalls }
}

function newClient(clientId: string): ReplayedClient {
  return { clientId, client: null, calls: 0, refused: 0, refusedPico: 0n, firstRefusedAtMs: null }
}

/** With what the client had spent of the limit's period before the replay begins. */
async function openReplay(
  pool: Postgres,
  limit: Limit,
  clientId: string,
  fromDay: UtcDay,
): Promise<LimitReplay> {
  const { per, since, keyId, formerKeys, model } = limit
  if (per === null) return new LimitReplay(limit)
  const first = budgetPeriodOf(per, since, fromDay).fromDay
  if (first >= fromDay) return new LimitReplay(limit)
  const account = { clientId, keyId, formerKeys, model, fromDay: first, toDay: addDays(fromDay, -1) }
  const { spentPico } = await selectSpent(pool, [account], [])
  return new LimitReplay(limit, spentPico[0] ?? 0n, fromDay)
}

/** Clients that have a limit of their own in the place of this default. */
export async function selectClientsWithOwn(
  pool: Postgres,
  { kind, per, model }: Limit,
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ client_id: string }>(
    `select distinct client_id from ${SCHEMA}.limits
     where removed_at is null and client_id is not null and key_id is null and axis is null and not soft
       and kind = $1 and per is not distinct from $2 and model is not distinct from $3`,
    [kind, per, model],
  )
  return new Set(rows.map(({ client_id: id }) => id))
}

type SqlRow = CallRow & { readonly told_by: string | null }

async function* readCalls(
  session: PostgresSession,
  day: UtcDay,
  clientId: string | null,
): AsyncGenerator<readonly SqlRow[]> {
  await session.query(DECLARE, [day, clientId])
  for (;;) {
    // The first one sorts the day.
    const { rows } = await queryLong<SqlRow>(session, `fetch ${PAGE} from replayed`, [])
    if (rows.length > 0) yield rows
    if (rows.length < PAGE) break
  }
  await session.query('close replayed')
}

type StoredCall = PastUse & { readonly callId: string; readonly clientId: string }

function storedCall(row: SqlRow): StoredCall {
  const { usage, costPico, latencyUs, unpricedReason, ...call } = fieldsFrom(row, FIELDS)
  return {
    ...call,
    latencyMs: (latencyUs ?? 0) / 1_000,
    costPico: costPico === null ? null : BigInt(costPico),
    isUnpriced: costPico === null && couldBePriced(unpricedReason ?? null),
    tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0),
    cachedTokens: usage.cacheReadTokens ?? 0,
    isSettlement: row.told_by !== null,
  }
}
