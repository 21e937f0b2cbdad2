import type { Command } from 'commander'
import { addDays, utcDayOf } from '../../../domain/utc-day.ts'
import { renderTable } from '../../../operations/table.ts'
import { selectCostDifferences } from '../../../usage/calls/cost-differences.ts'
import { selectModelsInUse } from '../../../usage/models-in-use.ts'
import {
  type CheckedUse,
  checkPrices,
  couldBePriced,
  nameUnpriced,
  renderUnpriced,
  selectUnpricedUse,
} from '../../../usage/unpriced-use.ts'
import { parseDays } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import {
  addPriceOptions,
  describePriceSource,
  findPrices,
  findPricesInForce,
  type PriceOptions,
} from '../../gateway-prices.ts'
import { differencesText, renderDifference } from './price-differences.ts'
import {
  contradictionsText,
  findContradictions,
  findStale,
  renderContradictions,
} from './prices-contradictions.ts'

/** Of calls without a cost: a command may take some seconds. */
const MOST_CALLS = 500_000n

/** `prices check`: the calls that have no cost, by model, path and reason. */
export function addPricesCheckCommand(prices: Command, cli: Cli): void {
  const command = prices
    .command('check')
    .description('which calls have no cost, and why')
    .option('--days <n>', 'UTC days, today and those before', parseDays, 30)
    .option(
      '--differences',
      'instead, the models whose provider says another cost than our prices, by over 1 %',
    )
    .option('--contradictions', 'instead, where the sources of prices contradict each other on models in use')
    .option('--all', 'the same of every model that a source lists, and corrections of ours that are stale')
  addPriceOptions(command).action(async (options: CheckOptions) => {
    const { days, differences } = options
    const nowMs = Date.now()
    const fromDay = addDays(utcDayOf(nowMs), 1 - days)
    if (options.contradictions === true || options.all === true) {
      await printContradictions(cli, options, fromDay)
      return
    }
    const { used, differing, by } = await cli.withServers(async ({ pool, reports }) => ({
      used: differences === true ? [] : await selectUnpricedUse(await reports(), fromDay, MOST_CALLS),
      differing: await selectCostDifferences(await reports(), fromDay),
      by: differences === true ? null : await findPricesInForce(pool, cli.env, options),
    }))
    if (by === null) {
      cli.print(differing.map(renderDifference), differencesText(differing, days))
      return
    }
    const rows = checkPrices(used, (provider, upstream, model, tier) =>
      by.config.catalog.knowsModel(provider, upstream, model, nowMs, tier),
    )
    const more =
      differing.length === 0
        ? []
        : [
            '',
            `Of ${differing.length} models the provider says another cost than our prices: prices check --differences.`,
          ]
    const whose = rows.length === 0 ? [] : ['', describePriceSource(by)]
    cli.print(rows.map(renderUnpriced), [text(rows, days), ...more, ...whose].join('\n'))
  })
}

interface CheckOptions extends PriceOptions {
  readonly days: number
  readonly differences?: true
  readonly contradictions?: true
  readonly all?: true
}

async function printContradictions(cli: Cli, options: CheckOptions, fromDay: string): Promise<void> {
  const nowMs = Date.now()
  const isAll = options.all === true
  const { by, used } = isAll
    ? { by: await findPrices(cli, options), used: null }
    : await cli.withServers(async ({ pool }) => ({
        by: await findPricesInForce(pool, cli.env, options),
        used: await selectModelsInUse(pool, fromDay),
      }))
  const found = findContradictions(by, used, nowMs)
  const stale = isAll ? findStale(by, nowMs) : []
  const whose = isAll ? 'models they list' : `models of the last ${options.days} days`
  cli.print(renderContradictions(found, stale), contradictionsText(found, stale, whose))
}

function text(rows: readonly CheckedUse[], days: number): string {
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
      nameUnpriced(row),
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
      row.hasPriceNow === true ? 'yes' : 'no',
    ]),
  )
  const hints = [
    ...(rows.some(({ hasPriceNow, reason }) => !hasPriceNow && couldBePriced(reason))
      ? ["No price: add it to prices in TALLYGATE_CONFIG; '0' is what is free."]
      : []),
    ...(rows.some(({ hasPriceNow }) => hasPriceNow)
      ? ['A price now: correct the past with prices reprice --model NAME --since DAY.']
      : []),
    ...(rows.some(({ reason }) => !couldBePriced(reason))
      ? ['No price helps calls without figures: doctor says what does, docs/prices.md what the reasons mean.']
      : []),
  ]
  return [table, '', ...hints].join('\n')
}
