import { picoToUsdNumber, picoToUsdText } from '../domain/pico-usd.ts'
import { addDays, utcDayOf } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { withDefaults } from './directory/limit-table.ts'
import { amountAt, budgetPeriodOf, type Limit, type PeriodDays } from './limit.ts'
import type { ShownLimit } from './limit-document.ts'
import { type SpendAccount, selectSpent } from './spent/select-spent.ts'
import { LIMIT_COLUMNS, type LimitRow, limitFrom } from './table/limit-rows.ts'

/** A limit, and the name of its client; `null`: a default. */
export interface NamedLimit {
  readonly limit: Limit
  readonly client: string | null
}

/** A part of all limits, in the order of their ids. */
export interface LimitPage {
  /** Only those behind this id. */
  readonly after: string
  readonly rows: number
}

/** The limits of all clients and the defaults, a page of them. */
export async function selectLimits(
  pool: Postgres,
  { after, rows: wanted }: LimitPage,
): Promise<readonly NamedLimit[]> {
  const { rows } = await pool.query<NamedRow>(
    `${SELECT_NAMED} where l.removed_at is null and l.id > $1 order by l.id limit $2`,
    [after, wanted],
  )
  return rows.map(namedFrom)
}

/** The limits that hold for calls of a client, its own before the defaults. */
export async function selectLimitsOf(pool: Postgres, clientId: string): Promise<readonly NamedLimit[]> {
  const { rows } = await pool.query<NamedRow>(
    `${SELECT_NAMED} where l.removed_at is null and (l.client_id = $1 or l.client_id is null) and l.group_id is null order by l.id`,
    [clientId],
  )
  const named = rows.map(namedFrom)
  const of = (isOwn: boolean) =>
    named.flatMap(({ limit }) => ((limit.clientId !== null) === isOwn ? [limit] : []))
  const client = named.find(({ limit }) => limit.clientId !== null)?.client ?? null
  return withDefaults(of(true), of(false)).map((limit) => ({
    limit,
    client: limit.clientId === null ? null : client,
  }))
}

export async function selectGroupLimits(pool: Postgres, groupId: string): Promise<readonly NamedLimit[]> {
  const { rows } = await pool.query<NamedRow>(
    `${SELECT_NAMED} where l.removed_at is null and l.group_id = $1 order by l.id`,
    [groupId],
  )
  return rows.map(namedFrom)
}

/** The defaults of all clients. */
export async function selectDefaultLimits(pool: Postgres): Promise<readonly NamedLimit[]> {
  const { rows } = await pool.query<NamedRow>(
    `${SELECT_NAMED} where l.removed_at is null and l.client_id is null and l.group_id is null order by l.id`,
  )
  return rows.map(namedFrom)
}

/** One limit; `null`: there is none, or it was removed. */
export async function findLimitById(pool: Postgres, id: string): Promise<NamedLimit | null> {
  const { rows } = await pool.query<NamedRow>(`${SELECT_NAMED} where l.removed_at is null and l.id = $1`, [
    id,
  ])
  return rows[0] === undefined ? null : namedFrom(rows[0])
}

/** Limits by their ids, in that order; those that were removed meanwhile are left out. */
export async function selectLimitsById(
  pool: Postgres,
  ids: readonly string[],
): Promise<readonly NamedLimit[]> {
  const { rows } = await pool.query<NamedRow>(
    `${SELECT_NAMED} where l.removed_at is null and l.id = any($1::bigint[]) order by array_position($1::bigint[], l.id)`,
    [ids],
  )
  return rows.map(namedFrom)
}

type NamedRow = LimitRow & { readonly client: string | null }

const SELECT_NAMED = `select ${LIMIT_COLUMNS}, c.name as client
  from ${SCHEMA}.limits l left join ${SCHEMA}.clients c on c.id = l.client_id`

function namedFrom(row: NamedRow): NamedLimit {
  return { limit: limitFrom(row), client: row.client }
}

/** Accounts a statement; more would hold a connection for long. */
const ACCOUNTS = 500

/**
 * Adds what was spent of each budget in its period of now.
 *
 * @param clientId Whose calls are meant by a default; `null`: those of no client, so that nothing is spent of it.
 * @param value The same of a limit that is for each value of an axis.
 * @throws When Postgres is away: never a wrong number.
 */
export async function showLimits(
  pool: Postgres,
  limits: readonly NamedLimit[],
  clientId: string | null,
  nowMs: number,
  value: string | null = null,
): Promise<readonly ShownLimit[]> {
  const today = utcDayOf(nowMs)
  const accounts: SpendAccount[] = []
  const periods = new Map<Limit, { readonly index: number; readonly period: PeriodDays }>()
  for (const { limit } of limits) {
    const whose = limit.clientId ?? clientId
    const ofValue = limit.axis === null ? null : (limit.value ?? value)
    if (limit.per === null || (whose === null && limit.groupId === null)) continue
    if (limit.axis !== null && ofValue === null) continue
    const period = budgetPeriodOf(limit.per, limit.since, today)
    periods.set(limit, { index: accounts.length, period })
    accounts.push({
      clientId: limit.groupId === null ? whose : null,
      groupId: limit.groupId,
      axis: limit.axis,
      value: ofValue,
      keyId: limit.keyId,
      formerKeys: limit.formerKeys,
      model: limit.model,
      ...period,
    })
  }
  const spentPico: bigint[] = []
  const chargedPico: bigint[] = []
  for (let from = 0; from < accounts.length; from += ACCOUNTS) {
    const read = await selectSpent(pool, accounts.slice(from, from + ACCOUNTS), [])
    spentPico.push(...read.spentPico)
    chargedPico.push(...read.chargedPico)
  }
  return limits.map(({ limit, client }) => {
    const account = periods.get(limit)
    const spent =
      account === undefined
        ? null
        : {
            pico: spentPico[account.index] ?? 0n,
            chargedPico: chargedPico[account.index] ?? 0n,
            period: account.period,
          }
    return { limit, client, spent }
  })
}

/** What is left of a rate, or of calls at once. */
export interface RateLeft {
  readonly remaining: number
  /** Milliseconds until all of it is free again, if no call comes. */
  readonly resetMs: number
}

/**
 * The limits that hold for a client's calls, as `GET /v1/usage?include=limits` shows them: what is set, spent, left,
 * and until when. Budgets are what Postgres has counted, as in the summary beside them.
 *
 * @param rateOf `null`: nothing is known of the limit.
 * @throws When Postgres is away: never a wrong number.
 */
export async function answerLimits(
  pool: Postgres,
  clientId: string,
  limits: readonly Limit[],
  rateOf: (limit: Limit) => RateLeft | null,
  nowMs: number,
) {
  const named = limits.map((limit) => ({ limit, client: null }))
  const shown = await showLimits(pool, named, clientId, nowMs)
  const groups = await selectGroupNames(
    pool,
    limits.flatMap(({ groupId }) => groupId ?? []),
  )
  return shown.map(({ limit, spent }) => {
    const { kind, groupId, axis, value, keyId, model, raise, per, isSoft } = limit
    const amount = amountAt(limit, nowMs)
    const isRaised = raise !== null && nowMs < raise.untilMs
    const terms = {
      kind,
      key_id: keyId,
      model,
      raised_until: isRaised ? new Date(raise.untilMs).toISOString() : null,
      ...(groupId === null ? {} : { group: groups.get(groupId) ?? groupId }),
      ...(axis === null ? {} : { axis, value }),
    }
    // Each value has its own left, and there may be any number of them.
    if (axis !== null && value === null)
      return kind === 'budget'
        ? { ...terms, per, soft: isSoft, ...usdOf('limit_usd', amount) }
        : { ...terms, limit: Number(amount) }
    if (spent === null) {
      const rate = rateOf(limit)
      const remaining = rate === null ? Number(amount) : Math.max(0, Math.floor(rate.remaining))
      return {
        ...terms,
        limit: Number(amount),
        remaining,
        reset_seconds: rate === null ? 0 : Math.ceil(rate.resetMs) / 1_000,
      }
    }
    const left = amount - spent.pico
    const { fromDay, toDay } = spent.period
    return {
      ...terms,
      per,
      soft: isSoft,
      ...usdOf('limit_usd', amount),
      ...usdOf('spent_usd', spent.pico),
      ...usdOf('charged_usd', spent.chargedPico),
      ...usdOf('left_usd', left > 0n ? left : 0n),
      from: `${fromDay}T00:00:00.000Z`,
      until: toDay === null ? null : `${addDays(toDay, 1)}T00:00:00.000Z`,
    }
  })
}

async function selectGroupNames(
  pool: Postgres,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await pool.query<{ id: string; name: string }>(
    `select id, name from ${SCHEMA}.groups where id = any($1::text[])`,
    [ids],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** An amount as the nearest JSON number, and exactly as text beside it. */
function usdOf(name: string, pico: bigint) {
  return { [name]: picoToUsdNumber(pico), [`${name}_text`]: picoToUsdText(pico) }
}
