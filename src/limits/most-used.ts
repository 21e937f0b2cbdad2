import type { Postgres } from '../store/connection/postgres.ts'
import { type BudgetPlace, DECIMALS, isAfter, orderBudgets, UNIT } from './used-order.ts'

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
  const before = placeOf(cursor)
  const isAsked = (place: BudgetPlace) =>
    isIn(state, place.units) && (before === null || isAfter(place, before))
  const first = places.findIndex(isAsked)
  if (first < 0) return []
  const page = places.slice(first, first + rows).filter(isAsked)
  return page.map(({ id, units }) => ({ id, cursor: `${textOf(units)}~${id}` }))
}

function placeOf(cursor: string | null): BudgetPlace | null {
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
