import type { Period } from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Contracts } from '../../pricing/contracts/contract.ts'
import {
  addCosts,
  costsOfWhole,
  markupIn,
  NO_COSTS,
  type OperatorCosts,
} from '../../pricing/contracts/three-costs.ts'
import { isLinear } from '../../pricing/price.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { sumsFrom } from '../daily-row.ts'
import type { DimensionField } from '../dimensions.ts'
import { METRICS, valueIn } from '../metrics-table.ts'
import { selectPricesAndParts } from '../price-definitions.ts'
import { conditionOf, type Only, Values } from '../report/report-source.ts'
import { columnsOfFields } from '../summaries/summary-tables.ts'
import { costsOfRepricing, costsOfUse, linesFrom, type StoredLine } from './operator-costs.ts'

/** Which costs are asked for: of each group, or without groups of all. */
export interface CostsOrder {
  readonly period: Period
  readonly by: readonly DimensionField[]
  readonly only: readonly Only[]
}

type SqlRow = Readonly<Record<string, string | null>>

const SUMMED = METRICS.filter(
  ({ kind, field }) => kind === 'tokens' || kind === 'units' || field === 'costPico',
)
const SUMS = ['requests', 'settlements', ...SUMMED.map(({ column }) => column)]

/**
 * What the operator pays for what was used, by the ids of groups with NUL between. It is the sum of what each row of
 * `daily_usage` costs: rows are added up first where rates give their cost, as that is linear in counts.
 */
export async function selectCosts(
  session: PostgresSession,
  { period, by, only }: CostsOrder,
  contracts: Contracts,
): Promise<ReadonlyMap<string, OperatorCosts>> {
  const kept = columnsOfFields(by)
  const query = (values: Values, source: string, columns: readonly string[]) => {
    const [first, last] = [values.add(period.fromDay, 'date'), values.add(period.toDay, 'date')]
    const conditions = only.map((one) => ` and ${conditionOf(one, values)}`).join('')
    const names = [...new Set([...kept, 'upstream', 'model', 'price_id'])].map((column) => `u.${column}`)
    const grouped = [...names, `width_bucket(u.day, ${values.add(contracts.days, 'date[]')}) as terms`]
    return `select ${[...grouped, ...columns].join(', ')} from ${source}
      where u.day between ${first} and ${last}${conditions}
      group by ${[...names, 'terms'].join(', ')}`
  }
  const ofUse = new Values()
  const used = await session.query<SqlRow>(
    query(ofUse, `${SCHEMA}.daily_usage u left join ${SCHEMA}.prices p on p.price_id = u.price_id`, [
      ...SUMS.map((column) => `coalesce(sum(${valueIn('u', column)}), 0)::text as ${column}`),
      `(json_agg(u.cost_pico::text) filter (where u.cost_pico <> 0
         and p.definition->>'basis' is distinct from 'linear'))::text as wholes`,
    ]),
    ofUse.all,
  )
  const ofEntries = new Values()
  const repriced = await session.query<SqlRow>(
    query(
      ofEntries,
      `${SCHEMA}.adjustment_entries u
       join ${SCHEMA}.adjustments a on a.id = u.adjustment_id and a.kind = 'reprice'
       left join lateral jsonb_array_elements(u.lines) line on true`,
      [
        'coalesce(sum(u.pico) filter (where u.lines is null), 0)::text as pico',
        '(jsonb_agg(line) filter (where line is not null))::text as lines',
      ],
    ),
    ofEntries.all,
  )
  const ids = new Set([...used.rows, ...repriced.rows].map((row) => row.price_id ?? ''))
  const prices = await selectPricesAndParts(session, ids)
  const costs = new Map<string, OperatorCosts>()
  const add = (row: SqlRow, part: OperatorCosts) => {
    const name = kept.map((column) => row[column] ?? '').join('\0')
    costs.set(name, addCosts(costs.get(name) ?? NO_COSTS, part))
  }
  const termsOf = (row: SqlRow) => {
    const { upstream, model, price_id: priceId, terms } = row
    const day: UtcDay = contracts.days[Number(terms) - 1] ?? '0001-01-01'
    const price = prices.get(priceId ?? '') ?? null
    const calls = { day, upstream: upstream ?? '', model: model ?? '', price: price?.definition ?? null }
    return { price, terms: contracts.termsOf(calls) }
  }
  for (const row of used.rows) {
    const { price, terms } = termsOf(row)
    if (price !== null && isLinear(price)) {
      const use = { costPico: BigInt(row.cost_pico ?? '0'), sums: sumsFrom(row), price }
      add(row, costsOfUse(use, prices, terms))
      continue
    }
    const markup = markupIn(price, prices)
    // Of a linear price whose definition cannot be read there is one sum.
    const wholes: readonly string[] =
      row.wholes === null ? [row.cost_pico ?? '0'] : JSON.parse(row.wholes ?? '')
    for (const pico of wholes) add(row, costsOfWhole(BigInt(pico), markup, terms))
  }
  for (const row of repriced.rows) {
    const { price, terms } = termsOf(row)
    const lines: readonly StoredLine[] = JSON.parse(row.lines ?? '[]')
    add(row, costsOfRepricing({ pico: 0n, lines: linesFrom(lines) }, price, prices, terms))
    add(row, costsOfRepricing({ pico: BigInt(row.pico ?? '0'), lines: null }, price, prices, terms))
  }
  return costs
}
