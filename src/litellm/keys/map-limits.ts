import { isModelPattern } from '../../domain/names.ts'
import type { BudgetPeriod, LimitKind } from '../../limits/limit.ts'
import { describeAmounts, parseAmount } from '../../limits/limit-document.ts'
import type { LimitOrder } from '../../limits/table/change-limits.ts'
import { columnMembers, columnText, columnTexts, type Row } from './tables.ts'

/** A limit here that one there becomes. */
export interface MappedLimit extends LimitOrder {
  /** `null`: every model. */
  readonly model: string | null
}

export interface MappedLimits {
  readonly limits: readonly MappedLimit[]
  /** What has nothing like it here, each a sentence's end: `its budget of 3h has no period like it`. */
  readonly unmapped: readonly string[]
}

/** LiteLLM resets these at midnight UTC, on Mondays and on the first of a month, as budgets here are. */
const PERIODS: ReadonlyMap<string, BudgetPeriod> = new Map([
  ['1d', 'day'],
  ['24h', 'day'],
  ['daily', 'day'],
  ['7d', 'week'],
  ['1w', 'week'],
  ['weekly', 'week'],
  ['30d', 'month'],
  ['1mo', 'month'],
  ['monthly', 'month'],
])

const RATES = [
  ['rpm_limit', 'requests'],
  ['tpm_limit', 'tokens'],
  ['max_parallel_requests', 'concurrent'],
] as const satisfies readonly (readonly [string, LimitKind])[]

/** Limits of keys that their `metadata` has, by model. */
const MODEL_RATES = [
  ['model_rpm_limit', 'requests'],
  ['model_tpm_limit', 'tokens'],
] as const satisfies readonly (readonly [string, LimitKind])[]

/** The least amount that a budget here can be: no call that costs anything passes it. */
const LEAST_PICO = 1n

/**
 * Budgets and rates of a key, a team or a user as limits.
 *
 * @param shared The row of `LiteLLM_BudgetTable` that it names: it says what the row itself leaves open.
 */
export function mapLimits(row: Row, shared: Row | undefined): MappedLimits {
  const limits = new Map<string, MappedLimit>()
  const unmapped: string[] = []
  const read = (column: string) => row[column] ?? shared?.[column] ?? null
  const add = (limit: MappedLimit) => {
    const sort = JSON.stringify([limit.model, limit.kind, limit.per, limit.isSoft])
    const known = limits.get(sort)
    if (known === undefined || limit.amount < known.amount) limits.set(sort, limit)
  }

  const addBudget = (sent: unknown, duration: unknown, model: string | null, isSoft: boolean) => {
    const per = duration === null || duration === undefined ? 'total' : PERIODS.get(String(duration))
    if (per === undefined) {
      unmapped.push(`its budget for ${shown(duration)} has no period like it here`)
      return
    }
    const amount = amountOf('budget', sent)
    if (amount === null) {
      unmapped.push(`its budget of ${shown(sent)} is none of ${describeAmounts('budget')}`)
      return
    }
    // A budget that begins again does so here with its next period. One that does not is taken with what is left of it.
    const spent = per === 'total' && model === null && !isSoft ? spentOf(row.spend) : 0n
    if (spent === null) {
      unmapped.push(`what is spent of its budget, ${shown(row.spend)}, is not an amount`)
      return
    }
    const left = amount - spent
    add({ kind: 'budget', per, isSoft, model, amount: left > 0n ? left : LEAST_PICO })
  }

  const addRate = (kind: LimitKind, sent: unknown, model: string | null) => {
    const amount = amountOf(kind, sent)
    if (amount === null || amount === 0n)
      unmapped.push(`its limit of ${shown(sent)} is none of ${describeAmounts(kind)}`)
    else add({ kind, per: null, isSoft: false, model, amount })
  }

  const duration = read('budget_duration')
  const budget = read('max_budget')
  if (budget !== null) addBudget(budget, duration, null, false)
  const soft = read('soft_budget')
  if (soft !== null) addBudget(soft, duration, null, true)
  for (const [column, kind] of RATES) {
    const sent = read(column)
    if (sent !== null) addRate(kind, sent, null)
  }
  if (read('tpd_limit') !== null) unmapped.push('its tokens a day have no limit like it here')

  const ofModels = [row, shared].map((one) => columnMembers(one, 'model_max_budget'))
  for (const [model, sent] of ofModels.find((members) => members.length > 0) ?? []) {
    const terms = new Map(Object.entries(Object(sent)))
    if (!isModelPattern(model)) unmapped.push(`its budget of the model ${shown(model)} names no model`)
    else
      addBudget(
        terms.get('budget_limit') ?? terms.get('max_budget'),
        terms.get('time_period') ?? terms.get('budget_duration'),
        model,
        false,
      )
  }
  for (const sent of Array.isArray(row.budget_limits) ? row.budget_limits : []) {
    const terms = new Map(Object.entries(Object(sent)))
    addBudget(terms.get('max_budget'), terms.get('budget_duration'), null, false)
  }
  const metadata = Object(row.metadata) as Row
  for (const [column, kind] of MODEL_RATES)
    for (const [model, sent] of columnMembers(metadata, column)) {
      if (isModelPattern(model)) addRate(kind, sent, model)
      else unmapped.push(`its limit of the model ${shown(model)} names no model`)
    }
  if (columnText(row, 'organization_id') !== null) unmapped.push('its organization is not taken')
  if (columnTexts(row, 'access_group_ids').length > 0) unmapped.push('its access groups are not taken')
  return { limits: [...limits.values()], unmapped }
}

/** What was spent, a float that is below 0 after amounts were given back. `null`: it is not known. */
function spentOf(sent: unknown): bigint | null {
  if (sent === null || sent === undefined) return 0n
  return typeof sent === 'number' && sent < 0 ? 0n : amountOf('budget', sent)
}

/** An amount that LiteLLM keeps as a float or an integer; `null`: no limit can be that. */
function amountOf(kind: LimitKind, sent: unknown): bigint | null {
  const amount = typeof sent === 'number' || typeof sent === 'string' ? Number(sent) : Number.NaN
  if (!Number.isFinite(amount) || amount < 0 || sent === '') return null
  if (amount === 0) return 0n
  const text = kind === 'budget' ? amount.toFixed(12).replace(/\.?0+$/, '') : String(amount)
  return text === '0' || text === '' ? LEAST_PICO : parseAmount(kind, text)
}

/** A value from another's database, in a sentence. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 60 ? `${text.slice(0, 60)}...` : text
}
