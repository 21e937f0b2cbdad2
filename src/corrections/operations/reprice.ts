import { z } from 'zod'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownFlag,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { choiceField, dayField, flagField, lineField, modelField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import { conflict, invalid } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import {
  describePriceSource,
  PRICED_BY,
  type PricePorts,
  type PricesInForce,
  renderPricedBy,
} from '../../pricing/operations/prices-in-force.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { renderDailyKey } from '../../usage/daily-key.ts'
import type { Repriced, RepricingSums } from '../reprice.ts'

interface RepriceInput {
  readonly model: string
  readonly since: string
  readonly provider?: string | undefined
  readonly dry_run: boolean
}

interface FoundRepricing {
  readonly repriced: Repriced
  readonly by: PricesInForce
}

const REPRICING = shownDocument('Repricing', {
  adjustment_id: shownTextOrNull('The adjustment that corrects it. null: nothing was written.'),
  model: shownText('The model, or the beginning of names and *.'),
  provider: shownTextOrNull('null: any provider.'),
  since: shownDay('The first UTC day.'),
  dry_run: shownFlag('Nothing is written.'),
  changed: shownFlag('Costs, or those of calls that are still to come in, change by it.'),
  calls: shownCount('Calls that were priced again.'),
  priced_calls: z.number().meta({ type: 'integer', description: 'Calls that have a cost by it.' }),
  still_unpriced: shownCount('Calls that still have no price.'),
  without_price_of_day: shownCount('Calls of a day of which no price is known.'),
  before_usd: shownText('The cost before.'),
  after_usd: shownText('The cost after.'),
  difference_usd: shownText('What is added.'),
  rows_from_calls: shownCount('Rows of totals that were priced call by call.'),
  rows_changed: shownCount('Rows of totals that change.'),
  rows: shownList(
    z
      .object({
        calls: shownCount('Calls of the row.'),
        priced_calls: z.number().meta({ type: 'integer', description: 'Calls that have a cost by it.' }),
        before_usd: shownText('The cost before.'),
        after_usd: shownText('The cost after.'),
      })
      .loose(),
    'The first 10,000 rows that change, each with what names it.',
  ),
  left_out: shownList(
    z
      .object({ calls: shownCount('Calls of the row.'), reason: shownText('Why it cannot be priced.') })
      .loose(),
    'Rows that cannot be priced, each with what names it.',
  ),
  priced_by: PRICED_BY,
})

export const repriceOperation = renderedOperation({
  name: 'prices.reprice',
  summary: 'Corrects the cost of past days by the prices of now, as an audited adjustment.',
  role: 'admin',
  http: { method: 'POST', path: '/prices/reprice', id: 'reprice', body: 'Reprice' },
  input: {
    model: modelField('Calls totalled under this name, or names that begin so and a *.'),
    since: dayField('From this UTC day on.'),
    provider: choiceField(PROVIDERS, 'At this provider alone.', 'name').optional(),
    dry_run: flagField('Only says what would change.').default(false),
    leave_out: flagField('Leaves out, and names, what cannot be priced again, instead of stopping.').default(
      false,
    ),
    reason: lineField('Why it is done.').default('prices corrected'),
  },
  answer: REPRICING,
  gives: 'What was corrected.',
  errors: ['conflict'],
  isLong: true,
  isPriced: true,
  async run({ pool, now, findPrices, progress }: PricePorts, input, who): Promise<FoundRepricing> {
    const { model, since, provider = null, dry_run: dryRun, leave_out: leaveOut, reason: why } = input
    const nowMs = now()
    if (since > utcDayOf(nowMs)) throw invalid('since', 'is still to come')
    const by = await findPrices({ mustNamePrices: !dryRun })
    const { catalog, upstreams, source, settings } = by.config
    const places = provider === null ? upstreams : [{ name: '', provider }]
    // A prefix of names cannot be checked.
    const hasPrice =
      model.endsWith('*') ||
      places.some((place) => catalog.knowsModel(place.provider, place.name, model, nowMs))
    const { reprice } = await import('../reprice.ts') // a gateway starts without it
    const order = {
      scope: { model, provider, since },
      catalog,
      entries: source.entries,
      catalogText: source.text(),
      settings,
      ...{ who, why, hasPrice, dryRun, leaveOut },
    }
    const shown = progress('calls')
    const repriced = await reprice(pool, order, { onProgress: (day, calls) => shown.at(day, calls) })
    const { kind, sums } = repriced
    if (kind === 'refused') throw conflict(refusal(sums))
    if (kind === 'priceless' && sums.unknownDay > 0n)
      throw conflict(`Nothing is changed: ${noPriceOfDay(sums.unknownDay)}`)
    if (kind === 'priceless')
      throw conflict(
        `The model ${model} has no price now: add it to prices in the TALLYGATE_CONFIG of the gateways. ${sums.stillUnpriced} of its calls are unpriced.`,
      )
    return { repriced, by }
  },
  render: ({ repriced, by }: FoundRepricing, input) => ({
    ...repricedDocument(repriced, input),
    priced_by: renderPricedBy(by),
  }),
  changes: {
    event: 'admin.cost_corrected',
    says: 'past calls priced again',
    log: ({ repriced: { adjustmentId } }) => (adjustmentId === null ? null : { adjustment: adjustmentId }),
  },
  command: {
    words: 'prices reprice',
    print: ({ repriced, by }, { dry_run: dryRun }) =>
      [repricedText(repriced, dryRun), describePriceSource(by)].join('\n'),
    exitCode: ({ repriced }) => (isBySumsAlone(repriced) ? 3 : 0),
  },
})

const SHOWN_REFUSALS = 5

function refusal({ refused, rowsRefused }: RepricingSums): string {
  const named = refused
    .slice(0, SHOWN_REFUSALS)
    .map(
      ({ key: { day, model, priceId }, calls, reason }) =>
        `${day} ${model} (${calls} calls at ${priceId === '' ? 'no price' : priceId}): ${reason}`,
    )
  const others = rowsRefused > SHOWN_REFUSALS ? `; and ${rowsRefused - SHOWN_REFUSALS} more` : ''
  return `Nothing is changed, as the new cost of some rows is unknown: ${named.join('; ')}${others}. With leave_out it goes on without them.`
}

function repricedDocument({ sums, kind, adjustmentId }: Repriced, input: RepriceInput) {
  return {
    adjustment_id: adjustmentId,
    model: input.model,
    provider: input.provider ?? null,
    since: input.since,
    dry_run: input.dry_run,
    changed: kind === 'changed',
    calls: Number(sums.callsInScope),
    priced_calls: Number(sums.pricedCalls),
    still_unpriced: Number(sums.stillUnpriced),
    without_price_of_day: Number(sums.unknownDay),
    before_usd: picoToUsdText(sums.beforePico),
    after_usd: picoToUsdText(sums.afterPico),
    difference_usd: picoToUsdText(sums.afterPico - sums.beforePico),
    rows_from_calls: sums.rowsFromCalls,
    rows_changed: sums.rowsChanged,
    rows: sums.rows.map((row) => ({
      ...renderDailyKey(row.key),
      calls: Number(row.calls),
      priced_calls: Number(row.pricedCalls),
      before_usd: picoToUsdText(row.beforePico),
      after_usd: picoToUsdText(row.afterPico),
    })),
    left_out: sums.refused.map(({ key, calls, reason }) => {
      const { key_id: _keyId, ...row } = renderDailyKey(key)
      return { ...row, calls: Number(calls), reason }
    }),
  }
}

/** Whether there was something to price again, and not a single call to do it by. */
function isBySumsAlone({ sums }: Repriced): boolean {
  return sums.rowsInScope > 0 && sums.rowsFromCalls === 0
}

/** Why calls stay as they are. */
function noPriceOfDay(calls: bigint): string {
  return `${calls} calls stay as they are: no price is known for their day. A price of your own, under prices, holds for it.`
}

const BY_SUMS = 'None of these calls is kept: priced by the sums of their rows, held against no call.'

function repricedText(repriced: Repriced, dryRun: boolean): string {
  const { adjustmentId, sums } = repriced
  const { rowsChanged, rowsInScope, refused, stillUnpriced, unknownDay, beforePico, afterPico } = sums
  const leftOut = refused.map(
    ({ key, calls, reason }) => `Left out: ${key.day} ${key.model}, ${calls} calls: ${reason}`,
  )
  const remarks = [
    ...(unknownDay > 0n ? [noPriceOfDay(unknownDay)] : []),
    ...(stillUnpriced > 0n ? [`${stillUnpriced} calls still have no price.`] : []),
    ...(isBySumsAlone(repriced) ? [BY_SUMS] : []),
  ]
  if (rowsChanged === 0) {
    const head =
      rowsInScope === 0
        ? 'Nothing was used of it since then.'
        : 'Every cost is as the prices of now say: nothing to change.'
    const rule = repriced.kind === 'changed' ? ['Calls that are still to come in will be priced so.'] : []
    return [head, ...(dryRun ? [] : rule), ...remarks, ...leftOut].join('\n')
  }
  const table = renderTable(
    [
      { heading: 'DAY' },
      { heading: 'MODEL' },
      { heading: 'CALLS', align: 'right' },
      { heading: 'NEWLY PRICED', align: 'right' },
      { heading: 'BEFORE USD', align: 'right' },
      { heading: 'AFTER USD', align: 'right' },
    ],
    sums.byDay
      .toSorted((a, b) => (`${a.day}\0${a.model}` < `${b.day}\0${b.model}` ? -1 : 1))
      .map((row) => [
        row.day,
        row.model,
        `${row.calls}`,
        `${row.pricedCalls}`,
        picoToUsdText(row.beforePico),
        picoToUsdText(row.afterPico),
      ]),
  )
  const done = dryRun ? 'would be corrected; nothing is written.' : `corrected: adjustment ${adjustmentId}.`
  const change = `${picoToUsdText(beforePico)} -> ${picoToUsdText(afterPico)} USD, ${done}`
  return [table, '', change, ...remarks, ...leftOut].join('\n')
}
