import type { Repriced } from '../../../corrections/reprice.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { renderTable } from '../../../operations/table.ts'
import { renderDailyKey } from '../../../usage/daily-key.ts'
import type { PriceOptions } from '../../gateway-prices.ts'

export function priceName(priceId: string): string {
  return priceId === '' ? 'no price' : priceId
}

export function repriceDocument({ sums, kind, adjustmentId }: Repriced, options: RepriceCommand) {
  return {
    adjustment_id: adjustmentId,
    model: options.model,
    provider: options.provider ?? null,
    since: options.since,
    dry_run: options.dryRun ?? false,
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
export function isBySumsAlone({ sums }: Repriced): boolean {
  return sums.rowsInScope > 0 && sums.rowsFromCalls === 0
}

/** Why calls stay as they are. */
export function noPriceOfDay(calls: bigint): string {
  return `${calls} calls stay as they are: no price is known for their day. A price of your own, under prices, holds for it.`
}

const BY_SUMS = 'None of these calls is kept: priced by the sums of their rows, held against no call.'

export function repriceText(repriced: Repriced, dryRun: boolean): string {
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

export interface RepriceCommand extends PriceOptions {
  readonly progress?: boolean
  readonly model: string
  readonly since: string
  readonly provider?: string
  readonly dryRun?: boolean
  readonly leaveOut?: boolean
  readonly by?: string
  readonly reason: string
}
