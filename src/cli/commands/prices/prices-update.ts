import type { Command } from 'commander'
import { Failure } from '../../../operations/failure.ts'
import { putPriceDoubts } from '../../../pricing/refresh/price-doubts.ts'
import { judgePrices, putJudged } from '../../../pricing/refresh/take-prices.ts'
import type { PriceCatalogKind } from '../../../pricing/sources/price-catalog-source.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import type { Cli } from '../../cli.ts'
import {
  type Asked,
  readOfferedPrices,
  refuseUnreadable,
  renderJudged,
  textOfJudged,
} from '../../offered-prices.ts'

const WHERE = "genai-prices' data.json, or the folder of its unpacked package; without: every source is asked"

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

/** Of one source. */
interface Updated {
  readonly document: object
  readonly text: string
  /** Why nothing of it was taken; `null`: nothing speaks against it. */
  readonly problem: string | null
}

async function update(cli: Cli, path: string | undefined, options: UpdateOptions): Promise<void> {
  await cli.withServers(async ({ pool }) => {
    const updated: Updated[] = []
    for (const asked of await readOfferedPrices(cli.env, path)) {
      updated.push(
        await updateSource(pool, asked, options).catch((error: unknown) => failed(asked.kind, error)),
      )
    }
    const [first, ...others] = updated
    const problems = updated.flatMap(({ problem }) => problem ?? [])
    if (first === undefined) throw new Failure('no source has a URL: set PRICES_URL')
    // Where nothing at all came of it, as of one path, it is an error and no result.
    if (problems.length === updated.length) throw new Failure(problems.join('\n'))
    cli.print(
      others.length === 0
        ? first.document
        : { ...first.document, sources: updated.map(({ document }) => document) },
      updated.map(({ text }) => text).join('\n\n'),
    )
    for (const problem of problems) cli.remark(problem)
    if (problems.length > 0) cli.fail()
  })
}

function failed(source: PriceCatalogKind, error: unknown): Updated {
  if (!(error instanceof Failure)) throw error
  const { message: problem } = error
  return { document: { source, problem }, text: `${source}: ${problem}`, problem }
}

async function updateSource(
  pool: Postgres,
  asked: Asked,
  { dryRun = false, force = false }: UpdateOptions,
): Promise<Updated> {
  if ('unreachable' in asked) throw new Failure(`nothing is changed: ${asked.unreachable}`)
  const { offered } = asked
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
  return {
    document: { source: kind, ...renderJudged(judged), stored },
    text: [...textOfJudged(judged), '', done].join('\n'),
    problem: null,
  }
}
