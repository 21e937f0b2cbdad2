import type { Command } from 'commander'
import { loadPriceConfig } from '../../config/price-config.ts'
import { couldBePriced, renderUnpriced, type UnpricedUse } from '../../domain/unpriced-document.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { selectUnpricedUse } from '../../store/unpriced-use.ts'
import { parseDays } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { renderTable } from '../table.ts'

/** `prices check`: the calls that have no cost, by model, path and reason. */
export function addPricesCheckCommand(prices: Command, cli: Cli): void {
  prices
    .command('check')
    .description('which calls have no cost, and why')
    .option('--days <n>', 'UTC days, today and those before', parseDays, 30)
    .action(async ({ days }: { readonly days: number }) => {
      const { catalog } = loadPriceConfig(cli.env)
      const nowMs = Date.now()
      const used = await cli.withServers(({ pool }) =>
        selectUnpricedUse(pool, addDays(utcDayOf(nowMs), 1 - days)),
      )
      const rows = used.map((use) => ({
        ...use,
        hasPriceNow:
          couldBePriced(use.reason) &&
          catalog.knowsModel(use.provider, use.upstream, use.model, nowMs, use.serviceTier),
      }))
      cli.print(rows.map(renderUnpriced), text(rows, days))
    })
}

function text(rows: readonly UnpricedUse[], days: number): string {
  if (rows.length === 0) return `Every call of the last ${days} days has a price.`
  const right = { align: 'right' } as const
  const table = renderTable(
    [
      { heading: 'MODEL' },
      { heading: 'PROVIDER' },
      { heading: 'UPSTREAM' },
      { heading: 'TIER' },
      { heading: 'CALL' },
      { heading: 'REASON' },
      { heading: 'CALLS', ...right },
      { heading: 'INPUT', ...right },
      { heading: 'OUTPUT', ...right },
      { heading: 'FIRST' },
      { heading: 'LAST' },
      { heading: 'PRICE NOW' },
    ],
    rows.map((row) => [
      row.model,
      row.provider,
      row.upstream,
      row.serviceTier ?? '-',
      row.path === null ? '-' : `${row.method} ${row.path}`,
      row.reason ?? '-',
      `${row.calls}`,
      `${row.inputTokens}`,
      `${row.outputTokens}`,
      row.firstDay,
      row.lastDay,
      row.hasPriceNow ? 'yes' : 'no',
    ]),
  )
  const mends = [
    ...(rows.some(({ hasPriceNow, reason }) => !hasPriceNow && couldBePriced(reason))
      ? ["No price: add it to prices in TALLYGATE_CONFIG; '0' is what is free."]
      : []),
    ...(rows.some(({ hasPriceNow }) => hasPriceNow)
      ? ['A price now: correct the past with prices reprice --model NAME --since DAY.']
      : []),
    ...(rows.some(({ reason }) => !couldBePriced(reason))
      ? [
          'No price helps calls that told no figures: doctor says what does, docs/prices.md what the reasons mean.',
        ]
      : []),
  ]
  return [table, '', ...mends].join('\n')
}
