import { z } from 'zod'
import { UNPRICED_REASONS } from '../../call/unpriced-reason.ts'
import { periodOf } from '../../domain/period.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { daysField } from '../../operations/fields.ts'
import { operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { checkPrices, type HasPrice, renderUnpriced, selectUnpricedUse } from '../unpriced-use.ts'

export interface UnpricedPorts extends Ports {
  /** `null`: gateways price differently. */
  findHasPrice(): Promise<HasPrice | null>
}

const UNPRICED_USE = shownDocument('UnpricedUse', {
  model: shownText('The model that answered. A name in parentheses stands for several.'),
  provider: shownText('The provider of the upstream.'),
  upstream: shownText('The name of the upstream.'),
  service_tier: shownTextOrNull(
    'As the upstream named it. null: it named none, or the single calls are not kept.',
  ),
  method: shownTextOrNull('The method of these calls. null: the single calls are not kept.'),
  path: shownTextOrNull('The path of these calls, ids in it as {id}. null: as method.'),
  reason: z
    .string()
    .nullable()
    .meta({
      anyOf: undefined,
      type: ['string', 'null'],
      enum: [...UNPRICED_REASONS, null],
      description:
        'Why they have no cost. null: not known, as the single calls are not kept or an older release metered them.',
    }),
  calls: shownCount('Calls without a cost.'),
  input_tokens: shownCount('Every prompt token, cached ones included.'),
  output_tokens: shownCount('Every generated token, reasoning included.'),
  first_day: shownDay('The UTC day of the first of them.'),
  last_day: shownDay('The UTC day of the last of them.'),
  has_price_now: z
    .boolean()
    .nullable()
    .describe(
      'Calls of now have one: the past can be corrected with prices reprice. null: gateways do not price alike.',
    ),
  requested_model: shownText('What the requests named, where the model is (unknown).').optional(),
})

export const listUnpriced = operation({
  name: 'unpriced',
  summary: 'Shows calls without a cost, by model, path and reason, those with most calls first.',
  role: 'read',
  http: { method: 'GET', path: '/unpriced', id: 'listUnpriced' },
  input: { days: daysField() },
  answer: shownList(UNPRICED_USE),
  gives: 'The calls.',
  isReport: true,
  async run({ read, now, findHasPrice }: UnpricedPorts, { days }) {
    const { fromDay } = periodOf(days, now())
    const [uses, hasPrice] = await Promise.all([
      read((from) => selectUnpricedUse(from, fromDay)),
      findHasPrice(),
    ])
    return checkPrices(uses, hasPrice).map(renderUnpriced)
  },
  command: { none: 'prices check shows the same, and by whose prices' },
})
