import type { UtcDay } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SPENT_OF_BUDGETS } from './conditions/spent-budgets.ts'
import { budgetPeriodOf } from './limit.ts'
import { selectGroupBudgets } from './spent/group-budgets.ts'
import { readLimitState } from './table/limit-rows.ts'

/** How far a budget is used: from its amount on, from four fifths of it on, or however far. */
export const USE_STATES = ['exceeded', 'near', 'all'] as const
export type UseState = (typeof USE_STATES)[number]

const LEAST: Readonly<Record<UseState, string>> = {
  exceeded: 's.used >= 1',
  near: 's.used >= 0.8 and s.used < 1',
  all: 'true',
}

/** A budget in the order of `selectMostUsed`. */
export interface UsedBudget {
  readonly id: string
  /** Names the place behind it. */
  readonly cursor: string
}

/** What such a cursor is: the part that is used, and the id. */
export const USED_CURSOR = /^(-?[0-9]{1,40}(?:\.[0-9]{1,40})?)~([1-9][0-9]{0,17})$/

const SELECT = (state: UseState) => `
with ${SPENT_OF_BUDGETS},
used as (
  select b.id, coalesce(s.pico, 0) / b.amount as used from budget b left join spent s on s.id = b.id
  where b.client_id is not null and (b.axis is null or b.axis_value is not null))
select s.id::text, s.used::text from used s
where ${LEAST[state]} and ($6::numeric is null or s.used < $6 or (s.used = $6 and s.id > $7::bigint))
order by s.used desc, s.id limit $8`

/** An order is kept for so long: it takes the sums of all clients, and pages of several people ask for it at once. */
const KEPT_MS = 10_000

interface KeptOrders {
  /** The day, and the state of the limits. */
  readonly of: string
  readonly endsAtMs: number
  /** By what was asked for. */
  readonly orders: Map<string, Promise<readonly UsedBudget[]>>
}

const KEPT = new WeakMap<Postgres, KeptOrders>()

interface OrderScope {
  readonly state: UseState
  /** `null`: from the first on. */
  readonly cursor: string | null
  readonly rows: number
}

/**
 * Budgets of clients and groups, those nearest their end first, by what is counted in the periods in which `day` lies. The order may
 * be ten seconds old, and is of the limits of now.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectMostUsed(
  pool: Postgres,
  day: UtcDay,
  scope: OrderScope,
): Promise<readonly UsedBudget[]> {
  const { version, server } = await readLimitState(pool)
  const of = `${day} ${version} ${server}`
  const name = `${scope.state} ${scope.cursor} ${scope.rows}`
  const nowMs = performance.now()
  const before = KEPT.get(pool)
  const kept =
    before?.of === of && nowMs < before.endsAtMs
      ? before
      : { of, endsAtMs: nowMs + KEPT_MS, orders: new Map<string, Promise<readonly UsedBudget[]>>() }
  KEPT.set(pool, kept)
  const known = kept.orders.get(name)
  if (known !== undefined) return await known
  const order = readMostUsed(pool, day, scope)
  kept.orders.set(name, order)
  try {
    return await order
  } catch (error) {
    kept.orders.delete(name)
    throw error
  }
}

async function readMostUsed(
  pool: Postgres,
  day: UtcDay,
  { state, cursor, rows: wanted }: OrderScope,
): Promise<readonly UsedBudget[]> {
  const [week, month] = [budgetPeriodOf('week', null, day), budgetPeriodOf('month', null, day)]
  const [, used = null, id = null] = USED_CURSOR.exec(cursor ?? '') ?? []
  const { rows } = await pool.query<{ id: string; used: string }>(SELECT(state), [
    day,
    week.fromDay,
    week.toDay,
    month.fromDay,
    month.toDay,
    used,
    id,
    wanted,
  ])
  const ofClients = rows.map((row) => ({ ...row, units: unitsOf(row.used) }))
  const ofGroups = (await selectGroupBudgets(pool, day)).flatMap(({ limit, spentPico, amountPico }) => {
    if (amountPico === 0n) return []
    const units = (spentPico * UNIT) / amountPico
    return [{ id: limit.id, units, used: textOf(units) }]
  })
  const behind = ofGroups.filter(
    ({ id: own, units }) =>
      isIn(state, units) &&
      (used === null || id === null || isAfter({ id: own, units }, { id, units: unitsOf(used) })),
  )
  return [...ofClients, ...behind]
    .sort((left, right) => (isAfter(left, right) ? 1 : -1))
    .slice(0, wanted)
    .map((budget) => ({ id: budget.id, cursor: `${budget.used}~${budget.id}` }))
}

/** Parts are compared to so many places, as many as a cursor has at most. */
const PLACES = 40
const UNIT = 10n ** BigInt(PLACES)

function unitsOf(used: string): bigint {
  const [, sign = '', whole = '0', part = ''] = /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(used) ?? []
  const units = BigInt(whole) * UNIT + BigInt(part.slice(0, PLACES).padEnd(PLACES, '0'))
  return sign === '' ? units : -units
}

function textOf(units: bigint): string {
  const size = units < 0n ? -units : units
  return `${units < 0n ? '-' : ''}${size / UNIT}.${(size % UNIT).toString().padStart(PLACES, '0')}`
}

function isIn(state: UseState, units: bigint): boolean {
  if (state === 'all') return true
  return state === 'exceeded' ? units >= UNIT : units < UNIT && units * 10n >= UNIT * 8n
}

interface Place {
  readonly id: string
  readonly units: bigint
}

/** Less is used of it, or as much, and its id is higher. */
function isAfter(one: Place, other: Place): boolean {
  return one.units === other.units ? BigInt(one.id) > BigInt(other.id) : one.units < other.units
}
