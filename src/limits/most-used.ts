import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { TableState } from '../lib/watched-table.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SPENT_OF_BUDGETS } from './conditions/spent-budgets.ts'
import { amountAt, budgetPeriodOf, type Limit } from './limit.ts'
import { showLimits } from './shown-limits.ts'
import { selectGroupBudgets } from './spent/group-budgets.ts'
import { readLimitState, selectChangedLimits } from './table/limit-rows.ts'

/** Parts are compared to so many decimals. Those that are alike to there stand in the order of their ids. */
const DECIMALS = 20
const UNIT = 10n ** BigInt(DECIMALS)

/** A budget's place in the order. */
interface BudgetPlace {
  /** Of the limit. */
  readonly id: string
  /** The part that is used: `UNIT` is all of it. Below 0 after a large credit. */
  readonly units: bigint
}

/** Less is used of it, or as much, and its id is higher. */
function isAfter(one: BudgetPlace, other: BudgetPlace): boolean {
  if (one.units !== other.units) return one.units < other.units
  return one.id.length === other.id.length ? one.id > other.id : one.id.length > other.id.length
}

/** A second order would read all sums again, so one is kept for all pages: of each budget 100 bytes. */
interface UsedOrder {
  readonly day: UtcDay
  /** The limits that it is of. */
  readonly state: TableState
  readonly readAtMs: number
  /** Those nearest their end first. */
  readonly places: readonly BudgetPlace[]
}

interface PoolOrder {
  order: UsedOrder | null
  /** One at a time: it takes the sums of all clients. */
  renewal: Promise<void> | null
}

const KEPT = new WeakMap<Postgres, PoolOrder>()

/** From this age on, an order is read again behind the answer. */
const RENEWED_AFTER_MS = 10_000
/** From this age on, the answer waits for it. An open page asks every 20 seconds, and does not wait. */
const OLDEST_MS = 30_000

/**
 * Budgets of clients and groups, those nearest their end first, by what is counted in the periods in which the moment
 * lies. What was spent may be half a minute old. The limits are those of now: one that was made or changed is put in its
 * place, and one that was removed is taken out.
 *
 * @throws When Postgres is away: never a wrong number.
 */
async function orderBudgets(pool: Postgres, nowMs: number): Promise<readonly BudgetPlace[]> {
  const kept = KEPT.get(pool) ?? { order: null, renewal: null }
  KEPT.set(pool, kept)
  for (;;) {
    const state = await readLimitState(pool)
    const { order } = kept
    if (order === null || !isUsable(order, state, nowMs)) {
      await renew(kept, pool, nowMs)
      continue
    }
    // If it fails, the order stays, and an answer that has to wait for it fails too.
    if (nowMs - order.readAtMs >= RENEWED_AFTER_MS) renew(kept, pool, nowMs).catch(() => {})
    if (order.state.version >= state.version) return order.places
    const changed = await withChanges(order, state, pool, nowMs)
    if (kept.order === order) kept.order = changed
    if (changed !== null) return changed.places
  }
}

function isUsable({ day, state, readAtMs }: UsedOrder, { server }: TableState, nowMs: number): boolean {
  return day === utcDayOf(nowMs) && state.server === server && Math.abs(nowMs - readAtMs) < OLDEST_MS
}

function renew(kept: PoolOrder, pool: Postgres, nowMs: number): Promise<void> {
  kept.renewal ??= readOrder(pool, nowMs)
    .then((order) => {
      kept.order = order
    })
    .finally(() => {
      kept.renewal = null
    })
  return kept.renewal
}

/** Sorted by Postgres, so that few places move here. */
const SELECT = `
with ${SPENT_OF_BUDGETS},
used as (
  select b.id, div(coalesce(s.pico, 0) * ${UNIT}, b.amount) as units from budget b left join spent s on s.id = b.id
  where b.client_id is not null and (b.axis is null or b.axis_value is not null))
select u.id::text, u.units::text from used u order by u.units desc, u.id`

async function readOrder(pool: Postgres, nowMs: number): Promise<UsedOrder> {
  // Before the sums, so that a change meanwhile is read again.
  const state = await readLimitState(pool)
  const day = utcDayOf(nowMs)
  const [week, month] = [budgetPeriodOf('week', null, day), budgetPeriodOf('month', null, day)]
  const { rows } = await pool.query<{ id: string; units: string }>(SELECT, [
    day,
    week.fromDay,
    week.toDay,
    month.fromDay,
    month.toDay,
  ])
  const ofGroups = await selectGroupBudgets(pool, day)
  const places = [
    ...rows.map(({ id, units }) => ({ id, units: BigInt(units) })),
    ...ofGroups.map(({ limit, spentPico }) => placeOf(limit, spentPico, nowMs)),
  ]
  return { day, state, readAtMs: nowMs, places: inOrder(places) }
}

/** The order with the limits of `state`. `null`: too many changed to be read one by one. */
async function withChanges(
  order: UsedOrder,
  state: TableState,
  pool: Postgres,
  nowMs: number,
): Promise<UsedOrder | null> {
  const changed = await selectChangedLimits(pool, order.state.version)
  if (changed === null) return null
  const ids = new Set(changed.map(({ id }) => id))
  const named = changed.flatMap(({ limit }) => (limit === null ? [] : [{ limit, client: null }]))
  const shown = await showLimits(pool, named, null, nowMs)
  const places = [
    ...order.places.filter(({ id }) => !ids.has(id)),
    ...shown.flatMap(({ limit, spent }) => (spent === null ? [] : [placeOf(limit, spent.pico, nowMs)])),
  ]
  return { ...order, state, places: inOrder(places) }
}

function placeOf(limit: Limit, spentPico: bigint, nowMs: number): BudgetPlace {
  return { id: limit.id, units: (spentPico * UNIT) / amountAt(limit, nowMs) }
}

function inOrder(places: readonly BudgetPlace[]): readonly BudgetPlace[] {
  return [...places].sort((left, right) => (isAfter(left, right) ? 1 : -1))
}

/** How far a budget is used: from its amount on, from four fifths of it on, or however far. */
export const USE_STATES = ['exceeded', 'near', 'all'] as const
export type UseState = (typeof USE_STATES)[number]

/** A budget in the order of `selectMostUsed`. */
export interface UsedBudget {
  readonly id: string
  /** Names the place behind it. */
  readonly cursor: string
}

/** What such a cursor is: the part that is used, and the id. */
export const USED_CURSOR = /^(-?[0-9]{1,40}(?:\.[0-9]{1,40})?)~([1-9][0-9]{0,17})$/

interface OrderScope {
  readonly state: UseState
  /** `null`: from the first on. */
  readonly cursor: string | null
  readonly rows: number
}

/**
 * A page of the budgets of clients and groups, those nearest their end first. A cursor is a place and no number of rows:
 * a budget whose place stays is on one page, whatever the others do between two.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectMostUsed(
  pool: Postgres,
  nowMs: number,
  { state, cursor, rows }: OrderScope,
): Promise<readonly UsedBudget[]> {
  const places = await orderBudgets(pool, nowMs)
  const before = placeOfCursor(cursor)
  const isAsked = (place: BudgetPlace) =>
    isIn(state, place.units) && (before === null || isAfter(place, before))
  const first = places.findIndex(isAsked)
  if (first < 0) return []
  const page = places.slice(first, first + rows).filter(isAsked)
  return page.map(({ id, units }) => ({ id, cursor: `${textOf(units)}~${id}` }))
}

function placeOfCursor(cursor: string | null): BudgetPlace | null {
  const [, used, id] = USED_CURSOR.exec(cursor ?? '') ?? []
  return used === undefined || id === undefined ? null : { id, units: unitsOf(used) }
}

function unitsOf(used: string): bigint {
  const [, sign = '', whole = '0', part = ''] = /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(used) ?? []
  const units = BigInt(whole) * UNIT + BigInt(part.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return sign === '' ? units : -units
}

function textOf(units: bigint): string {
  const size = units < 0n ? -units : units
  return `${units < 0n ? '-' : ''}${size / UNIT}.${(size % UNIT).toString().padStart(DECIMALS, '0')}`
}

function isIn(state: UseState, units: bigint): boolean {
  if (state === 'all') return true
  return state === 'exceeded' ? units >= UNIT : units < UNIT && units * 10n >= UNIT * 8n
}
