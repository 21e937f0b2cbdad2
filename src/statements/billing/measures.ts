import { correctedIn, METRICS, valueIn } from '../../usage/metrics-table.ts'

/** What can be sent of the rows `u` of a day. */
interface Measure {
  /** Its sum in SQL: `numeric`, exact. */
  readonly sum: string
  readonly isWhole: boolean
}

const COST_PICO = `sum(${correctedIn('u', { field: 'costPico', column: 'cost_pico' })})`

const COUNTED = METRICS.filter(
  ({ kind, column }) => kind === 'tokens' || kind === 'units' || column === 'requests',
)

/** By the names that configurations use. Cost is as it is billed, with all corrections. */
export const MEASURES: ReadonlyMap<string, Measure> = new Map([
  ['cost_usd', { sum: `trim_scale(${COST_PICO} * 0.000000000001)`, isWhole: false }],
  // For receivers of whole numbers: of a day's sum less than half of the unit is lost, whatever came in how many events.
  ['cost_microusd', { sum: `round(${COST_PICO} / 1000000)`, isWhole: true }],
  ['cost_nanousd', { sum: `round(${COST_PICO} / 1000)`, isWhole: true }],
  ['total_tokens', { sum: 'sum(u.input_tokens + u.output_tokens)', isWhole: true }],
  ...COUNTED.map(({ column }) => [column, { sum: `sum(${valueIn('u', column)})`, isWhole: true }] as const),
])
