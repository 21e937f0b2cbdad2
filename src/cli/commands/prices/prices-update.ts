import type { Command } from 'commander'
import { Failure } from '../../../doctor/failure.ts'
import { putPriceDoubts } from '../../../pricing/refresh/price-doubts.ts'
import { judgePrices, putJudged } from '../../../pricing/refresh/take-prices.ts'
import type { Cli } from '../../cli.ts'
import { readOfferedPrices, refuseUnreadable, renderJudged, textOfJudged } from '../../offered-prices.ts'

const WHERE = "genai-prices' data.json, or the folder of its unpacked package; without: PRICES_URL is asked"

interface UpdateOptions {
  readonly dryRun?: boolean
  readonly force?: boolean
}

/** `prices update` and `prices diff`: newer price data for all gateways, and what it would change. */
export function addPricesUpdateCommands(prices: Command, cli: Cli): void {
  prices
    .command('update')
    .description('take newer prices for all gateways, and show what changes')
    .argument('[path]', WHERE)
    .option('--dry-run', 'only show what would change')
    .option('--force', 'also what is doubtful: you have looked at it')
    .action((path: string | undefined, options: UpdateOptions) => update(cli, path, options))
  prices
    .command('diff')
    .description('show what newer prices would change, and what speaks against them')
    .argument('[path]', WHERE)
    .action((path: string | undefined) => update(cli, path, { dryRun: true }))
}

async function update(
  cli: Cli,
  path: string | undefined,
  { dryRun = false, force = false }: UpdateOptions,
): Promise<void> {
  await cli.withServers(async ({ pool }) => {
    const offered = await readOfferedPrices(cli.env, path)
    const judged = await judgePrices(pool, offered, Date.now(), force)
    refuseUnreadable(judged, offered)
    const { kind, catalog, doubts, held, before } = judged
    if (!dryRun && !force && catalog !== null && doubts.length > 0) {
      throw new Failure(
        `nothing is changed: ${offered.origin} is doubtful: ${doubts.join('; ')}. See prices diff; --force takes it all the same`,
      )
    }
    const stored = !dryRun && catalog !== null
    if (stored && !(await putJudged(pool, judged))) {
      throw new Failure('nothing is changed: other prices were taken at the same time; look again')
    }
    if (!dryRun) await putPriceDoubts(pool, kind, held, offered.origin)
    const done = stored
      ? `${before} -> ${catalog.source}. Gateways take it within a minute.`
      : catalog === null
        ? `${before} has all of it already.`
        : `${before} -> ${catalog.source}: nothing is written.`
    cli.print({ ...renderJudged(judged), stored }, [...textOfJudged(judged), '', done].join('\n'))
  })
}
