import type { UtcDay } from '../../domain/utc-day.ts'
import type { TableState } from '../../lib/watched-table.ts'
import type { Postgres, PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import {
  BUDGET_PERIODS,
  type BudgetPeriod,
  LIMIT_KINDS,
  type Limit,
  type LimitKind,
  WHEN_ALONE,
} from '../limit.ts'
import type { LimitScope } from '../subject.ts'

/** A row of `limits`, as Postgres gives it. */
export interface LimitRow {
  readonly id: string
  readonly client_id: string | null
  readonly group_id: string | null
  readonly axis: string | null
  readonly axis_value: string | null
  readonly key_id: string | null
  readonly former_keys: readonly string[]
  readonly model: string | null
  readonly kind: string
  readonly amount: string
  readonly raised_to: string | null
  readonly raised_until: Date | null
  readonly per: string | null
  readonly soft: boolean
  readonly since: UtcDay | null
  readonly counts_cached: boolean
  readonly allows_unpriced: boolean
  readonly when_alone: string
}

/** The condition that a row `l` is of a client or the default of clients, and of nothing within. */
export const IS_OF_CLIENT = '(l.axis is null and l.group_id is null)'

/**
 * The model of a limit `l`. In `model` a limit of a group or axis has the name of its subject before it: so it is unique
 * beside that of the client, and programs of the release before take it for one of a model that no call has.
 */
export const MODEL_OF_LIMIT = `(case when ${IS_OF_CLIENT} then l.model else l.subject_model end)`

/** What the column `model` has of a limit of this scope. */
export function modelColumnOf({
  groupId = null,
  axis = null,
  value = null,
  model,
}: LimitScope): string | null {
  if (groupId === null && axis === null) return model
  return `(${JSON.stringify([groupId, axis, value])}) ${model ?? ''}`
}

/** Its columns, of the table `l`. */
export const LIMIT_COLUMNS = `l.id, l.client_id, l.group_id, l.axis, l.axis_value, l.key_id, l.former_keys,
  ${MODEL_OF_LIMIT} as model, l.kind, l.amount, l.raised_to,
  l.raised_until, l.per, l.soft, l.since, l.counts_cached, l.allows_unpriced, l.when_alone`

/** @throws When a later release has written a kind or a period that this one does not know. */
export function limitFrom(row: LimitRow): Limit {
  const { raised_to: raisedTo, raised_until: raisedUntil } = row
  return {
    id: row.id,
    clientId: row.client_id,
    groupId: row.group_id,
    axis: row.axis,
    value: row.axis_value,
    keyId: row.key_id,
    formerKeys: row.former_keys,
    model: row.model,
    kind: kindOf(row.kind),
    amount: BigInt(row.amount),
    raise:
      raisedTo === null || raisedUntil === null
        ? null
        : { amount: BigInt(raisedTo), untilMs: raisedUntil.getTime() },
    per: row.per === null ? null : periodNamed(row.per),
    isSoft: row.soft,
    since: row.since,
    countsCached: row.counts_cached,
    allowsUnpriced: row.allows_unpriced,
    whenAlone: WHEN_ALONE.find((name) => name === row.when_alone) ?? 'refuse',
  }
}

/** The names of these constants, and not a copy of their text for each row. */
function kindOf(text: string): LimitKind {
  const kind = LIMIT_KINDS.find((name) => name === text)
  if (kind === undefined) throw new Error(`there is no limit of the kind ${text}`)
  return kind
}

function periodNamed(text: string): BudgetPeriod {
  const period = BUDGET_PERIODS.find((name) => name === text)
  if (period === undefined) throw new Error(`there is no budget per ${text}`)
  return period
}

/** A limit that was changed; `limit` is `null` where it was removed. */
export interface ChangedLimit {
  readonly id: string
  readonly limit: Limit | null
}

/** This many rows a page keep the pauses of the event loop to a few milliseconds. */
const PAGE_ROWS = 2_000
/** More changes than these are read with all limits, page by page. */
const MAX_CHANGED = 20_000

/**
 * All limits, page by page: each statement is short, however many there are.
 * @throws When Postgres is unreachable.
 */
export async function* selectLimitPages(pool: Postgres): AsyncGenerator<readonly ChangedLimit[]> {
  let after = '0'
  for (;;) {
    const { rows } = await pool.query<LimitRow>(
      `select ${LIMIT_COLUMNS} from ${SCHEMA}.limits l
       where l.id > $1 and l.removed_at is null order by l.id limit ${PAGE_ROWS}`,
      [after],
    )
    yield rows.map((row) => ({ id: row.id, limit: limitFrom(row) }))
    const last = rows[PAGE_ROWS - 1]
    if (last === undefined) return
    after = last.id
  }
}

/**
 * The limits that changed after change `version`, as of one moment. `null`: too many to be read at once.
 * @throws When Postgres is unreachable.
 */
export async function selectChangedLimits(
  pool: Postgres,
  version: bigint,
): Promise<readonly ChangedLimit[] | null> {
  const { rows } = await pool.query<LimitRow & { readonly removed: boolean }>(
    `select ${LIMIT_COLUMNS}, l.removed_at is not null as removed from ${SCHEMA}.limits l
     where l.version > $1 limit ${MAX_CHANGED + 1}`,
    [version],
  )
  if (rows.length > MAX_CHANGED) return null
  return rows.map((row) => ({ id: row.id, limit: row.removed ? null : limitFrom(row) }))
}

/**
 * Takes the number of a change. It locks the counter until the transaction ends, so numbers become visible in their
 * order; and changes of limits come one after the other, so one reads what the other has left.
 */
export async function takeLimitVersion(session: Pick<PostgresSession, 'query'>): Promise<string> {
  const { rows } = await session.query<{ version: string }>(
    `update ${SCHEMA}.limit_version set version = version + 1 returning version`,
  )
  return rows[0]?.version ?? '0'
}

/**
 * The state of the limits now.
 * @throws When Postgres is unreachable.
 */
export async function readLimitState(pool: Postgres): Promise<TableState> {
  const { rows } = await pool.query<{ version: string; server: string }>(
    `select version, extract(epoch from pg_postmaster_start_time())::text as server from ${SCHEMA}.limit_version`,
  )
  return { version: BigInt(rows[0]?.version ?? 0), server: rows[0]?.server ?? '' }
}
