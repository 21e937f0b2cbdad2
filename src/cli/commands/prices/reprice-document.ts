import type { Repriced } from '../../../corrections/reprice.ts'
import type { RepricedRow } from '../../../corrections/reprice-plan.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { renderDailyKey } from '../../../usage/daily-key.ts'
import type { PriceOptions } from '../../gateway-prices.ts'
import { renderTable } from '../../table.ts'

export function priceName(priceId: string): string {
  return priceId === '' ? 'no price' : priceId
}

export function repriceDocument(repriced: Repriced, options: RepriceOptions) {
  return {
    adjustment_id: repriced.adjustmentId,
    model: options.model,
    provider: options.provider ?? null,
    since: options.since,
    dry_run: options.dryRun ?? false,
    changed: repriced.kind === 'changed',
    calls: Number(repriced.callsInScope),
    priced_calls: Number(repriced.rows.reduce((sum, row) => sum + row.pricedCalls, 0n)),
    still_unpriced: Number(repriced.stillUnpriced),
    before_usd: picoToUsdText(repriced.beforePico),
    after_usd: picoToUsdText(repriced.afterPico),
    difference_usd: picoToUsdText(repriced.afterPico - repriced.beforePico),
    rows: repriced.rows.map((row) => ({
      ...renderDailyKey(row.key),
      calls: Number(row.calls),
      priced_calls: Number(row.pricedCalls),
      before_usd: picoToUsdText(row.beforePico),
      after_usd: picoToUsdText(row.afterPico),
    })),
    left_out: repriced.refused.map(({ key, calls, reason }) => {
      const { key_id: _keyId, ...row } = renderDailyKey(key)
      return { ...row, calls: Number(calls), reason }
    }),
  }
}

export function repriceText(repriced: Repriced, dryRun: boolean): string {
  const { rows, refused, stillUnpriced, beforePico, afterPico, adjustmentId } = repriced
  const leftOut = refused.map(
    ({ key, calls, reason }) => `Left out: ${key.day} ${key.model}, ${calls} calls: ${reason}`,
  )
  const unpriced = stillUnpriced > 0n ? [`${stillUnpriced} calls still have no price.`] : []
  if (rows.length === 0) {
    const head =
      repriced.rowsInScope === 0
        ? 'Nothing was used of it since then.'
        : 'Every cost is as the prices of now say: nothing to change.'
    const rule = repriced.kind === 'changed' ? ['Calls that are still to come in will be priced so.'] : []
    return [head, ...(dryRun ? [] : rule), ...unpriced, ...leftOut].join('\n')
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
    byDay(rows),
  )
  const done = dryRun ? 'would be corrected; nothing is written.' : `corrected: adjustment ${adjustmentId}.`
  const sums = `${picoToUsdText(beforePico)} -> ${picoToUsdText(afterPico)} USD, ${done}`
  return [table, '', sums, ...unpriced, ...leftOut].join('\n')
}

function byDay(rows: readonly RepricedRow[]): string[][] {
  const groups = Map.groupBy(rows, ({ key }) => `${key.day}\0${key.model}`)
  return [...groups].sort().map(([name, group]) => {
    const sum = (pick: (row: RepricedRow) => bigint) => group.reduce((total, row) => total + pick(row), 0n)
    return [
      ...name.split('\0'),
      `${sum(({ calls }) => calls)}`,
      `${sum(({ pricedCalls }) => pricedCalls)}`,
      picoToUsdText(sum(({ beforePico }) => beforePico)),
      picoToUsdText(sum(({ afterPico }) => afterPico)),
    ]
  })
}

export interface RepriceOptions extends PriceOptions {
  readonly model: string
  readonly since: string
  readonly provider?: string
  readonly dryRun?: boolean
  readonly leaveOut?: boolean
  readonly by?: string
  readonly reason: string
}
