import type { Command } from 'commander'
import type { PriceConfig } from '../../../config/yaml/price-config.ts'
import { type Repriced, reprice } from '../../../corrections/reprice.ts'
import type { RefusedRow, RepricedRow } from '../../../corrections/reprice-plan.ts'
import { Failure } from '../../../doctor/failure.ts'
import { picoToUsdText } from '../../../domain/pico-usd.ts'
import { utcDayOf } from '../../../domain/utc-day.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { parseDay, parseModel, parseProvider, parseReason } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'
import {
  addPriceOptions,
  describePriceSource,
  findPricesInForce,
  type PriceOptions,
  type PricesInForce,
  renderPricedBy,
} from '../../gateway-prices.ts'
import { operatorName } from '../../operator.ts'
import { renderTable } from '../../table.ts'

/** `prices reprice`: corrects the cost of past days by the current prices, as an audited adjustment. */
export function addPricesRepriceCommand(prices: Command, cli: Cli): void {
  const command = prices
    .command('reprice')
    .description('correct the cost of past days by the prices of now')
    .requiredOption(
      '--model <name>',
      'calls totalled under this name, or names that begin so and a *',
      parseModel,
    )
    .requiredOption('--since <day>', 'from this UTC day on', parseDay)
    .option('--provider <name>', 'at this provider alone', parseProvider)
    .option('--dry-run', 'only say what would change')
    .option('--leave-out', 'leave out, and name, what cannot be priced again, instead of stopping')
    .option('--by <name>', 'who does it; without: the user of the system', parseReason)
    .option('--reason <text>', 'why', parseReason, 'prices corrected')
  addPriceOptions(command).action(async (options: RepriceOptions) => {
    const { model, since, provider = null, dryRun = false, leaveOut = false } = options
    if (since > utcDayOf(Date.now())) throw new Failure(`--since ${since} is still to come`)
    const { repriced, by } = await cli.withServers(async ({ pool }) => {
      const by = await pricesToReprice(pool, cli, options)
      const { config } = by
      const repriced = await reprice(pool, {
        scope: { model, provider, since },
        catalog: config.catalog,
        entries: config.source.entries,
        catalogText: config.source.text(),
        settings: config.settings,
        who: options.by ?? operatorName(),
        why: options.reason,
        hasPrice: hasPrice(config, model, provider),
        dryRun,
        leaveOut,
      })
      return { repriced, by }
    })
    if (repriced.kind === 'refused') throw new Failure(refusal(repriced.refused))
    if (repriced.kind === 'priceless') {
      throw new Failure(
        `${model} has no price now: add it to prices in the TALLYGATE_CONFIG of the gateways. ${repriced.stillUnpriced} of its calls are unpriced`,
      )
    }
    cli.print(
      { ...document(repriced, options), priced_by: renderPricedBy(by) },
      [text(repriced, dryRun), describePriceSource(by)].join('\n'),
    )
  })
}

async function pricesToReprice(pool: Postgres, cli: Cli, options: RepriceOptions): Promise<PricesInForce> {
  try {
    return await findPricesInForce(pool, cli.env, { ...options, mustNamePrices: options.dryRun !== true })
  } catch (error) {
    throw error instanceof Failure ? new Failure(`nothing is changed: ${error.message}`) : error
  }
}

interface RepriceOptions extends PriceOptions {
  readonly model: string
  readonly since: string
  readonly provider?: string
  readonly dryRun?: boolean
  readonly leaveOut?: boolean
  readonly by?: string
  readonly reason: string
}

/** At any upstream; a prefix of names cannot be checked. */
function hasPrice({ catalog, upstreams }: PriceConfig, model: string, provider: string | null): boolean {
  const places = provider === null ? upstreams : [{ name: '', provider }]
  return (
    model.endsWith('*') ||
    places.some((place) => catalog.knowsModel(place.provider, place.name, model, Date.now()))
  )
}

const SHOWN_REFUSALS = 5

function refusal(refused: readonly RefusedRow[]): string {
  const named = refused
    .slice(0, SHOWN_REFUSALS)
    .map(
      ({ key, calls, reason }) =>
        `${key.day} ${key.model} (${calls} calls at ${priceName(key.priceId)}): ${reason}`,
    )
  const others = refused.length > SHOWN_REFUSALS ? `; and ${refused.length - SHOWN_REFUSALS} more` : ''
  return `nothing is changed, as the new cost of some rows is unknown: ${named.join('; ')}${others}. --leave-out goes on without them`
}

function priceName(priceId: string): string {
  return priceId === '' ? 'no price' : priceId
}

function document(repriced: Repriced, options: RepriceOptions) {
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
      day: row.key.day,
      client_id: row.key.clientId,
      key_id: row.key.keyId,
      model: row.key.model,
      upstream: row.key.upstream,
      price_id: row.key.priceId === '' ? null : row.key.priceId,
      calls: Number(row.calls),
      priced_calls: Number(row.pricedCalls),
      before_usd: picoToUsdText(row.beforePico),
      after_usd: picoToUsdText(row.afterPico),
    })),
    left_out: repriced.refused.map(({ key, calls, reason }) => ({
      day: key.day,
      client_id: key.clientId,
      model: key.model,
      upstream: key.upstream,
      price_id: key.priceId === '' ? null : key.priceId,
      calls: Number(calls),
      reason,
    })),
  }
}

function text(repriced: Repriced, dryRun: boolean): string {
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
