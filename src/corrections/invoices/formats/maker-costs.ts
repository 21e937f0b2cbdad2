import { amountOf, dayOf, type InvoiceClass, quantityOf } from '../invoice-row.ts'
import { classIn, tierIn } from '../invoice-words.ts'
import { type InvoiceFormat, NOT_SAID, orNull } from './format.ts'

/**
 * Pages of `/v1/organization/costs`, one record for each result. Line items are `gpt-4o-2024-08-06, cached input`, and
 * names of their own for what is not a model.
 * https://platform.openai.com/docs/api-reference/usage/costs
 */
export const OPENAI_COSTS: InvoiceFormat = {
  name: 'openai-costs',
  title: "OpenAI's costs",
  columns: ['start_time', 'amount.value', 'amount.currency'],
  rowOf(cells, { rates }) {
    const item = orNull(cells.get('line_item')) ?? '(none)'
    const words = item.slice(item.indexOf(',') + 1)
    const unit = orNull(cells.get('quantity_unit'))
    return {
      ...NOT_SAID,
      biller: 'openai',
      day: dayOf(cells.get('start_time')),
      service: item,
      kind: 'usage',
      class: classIn(words),
      tier: tierIn(words),
      account: orNull(cells.get('api_key_id', 'project_id')),
      quantityMicro: quantityOf(cells.get('quantity'), unit ?? ''),
      unit,
      ...amountOf(cells.get('amount.value'), cells.get('amount.currency'), rates),
    }
  },
}

/** `token_type` of Anthropic's report; what it counts beside tokens is named by `cost_type`. */
const TOKEN_TYPES: readonly (readonly [beginning: string, InvoiceClass])[] = [
  ['uncached_input_tokens', 'input'],
  ['cache_read_input_tokens', 'cache_read'],
  ['cache_creation', 'cache_write'],
  ['output_tokens', 'output'],
]

/**
 * Pages of `/v1/organizations/cost_report`, one record for each result. Amounts are in cents. The priority tier is not
 * in it.
 * https://platform.claude.com/docs/en/api/admin/cost_report
 */
export const ANTHROPIC_COSTS: InvoiceFormat = {
  name: 'anthropic-costs',
  title: "Anthropic's cost report",
  columns: ['starting_at', 'amount', 'currency'],
  rowOf(cells, { rates }) {
    const description = orNull(cells.get('description'))
    const type = cells.get('token_type')
    const ofType = TOKEN_TYPES.find(([beginning]) => type.startsWith(beginning))?.[1]
    const geo = orNull(cells.get('inference_geo'))
    return {
      ...NOT_SAID,
      biller: 'anthropic',
      day: dayOf(cells.get('starting_at')),
      service: orNull(cells.get('model')) ?? description ?? '(none)',
      kind: 'usage',
      class: ofType ?? classIn(`${cells.get('cost_type')} ${description ?? ''}`),
      tier: orNull(cells.get('service_tier')),
      place: geo === 'not_available' ? 'global' : geo,
      account: orNull(cells.get('api_key_id', 'workspace_id')),
      ...amountOf(cells.get('amount'), cells.get('currency'), rates, 100n),
    }
  },
}
