import { readFile, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { Failure } from '../../../operations/failure.ts'
import { utcDayOf } from '../../../domain/utc-day.ts'
import { reasonOf } from '../../../lib/reason-of.ts'
import { findCurrentPriceCatalog, putPriceCatalog } from '../../../pricing/refresh/price-catalogs.ts'
import { putPriceDoubts } from '../../../pricing/refresh/price-doubts.ts'
import { judgePrices, putJudged } from '../../../pricing/refresh/take-prices.ts'
import { BUNDLED, bundledText } from '../../../pricing/sources/catalog-bundle.ts'
import {
  type LiteLlmCatalog,
  MAX_LITELLM_BYTES,
  readLiteLlmCatalog,
} from '../../../pricing/sources/litellm/litellm-catalog.ts'
import { priceCatalogSource, sha256Of } from '../../../pricing/sources/price-catalog-source.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import type { Cli } from '../../cli.ts'
import { refuseUnreadable } from '../../offered-prices.ts'

/** `prices import`: takes LiteLLM's price list for all gateways as the last of the sources, whole or not at all. */
export function addPricesImportCommand(prices: Command, cli: Cli): void {
  prices
    .command('import')
    .description("take LiteLLM's price list for all gateways, as the source that is asked last")
    .argument('[file]', "LiteLLM's model_prices_and_context_window.json")
    .option('--dry-run', 'only say what is in it')
    .option('--remove', 'take back what was imported')
    .action(async (path: string | undefined, { dryRun = false, remove = false }: ImportOptions) => {
      if ((path === undefined) !== remove) throw new Failure('name a file, or --remove')
      const catalog = path === undefined ? null : await readList(path)
      const put = await cli.withServers(({ pool }) =>
        catalog === null ? putBundled(pool, dryRun) : putList(pool, catalog.text, path ?? '', dryRun),
      )
      const done = dryRun ? 'Nothing is written.' : put.stored ? TAKEN : 'It is in use already.'
      const { models = 0, passedOver = 0, contradictory = [] } = catalog ?? {}
      cli.print(
        { ...put, models, passed_over: passedOver, contradictory },
        catalog === null
          ? `What was imported is taken back: the list of this release is used. ${done}`
          : textOf(catalog, put.source, done),
      )
    })
}

const TAKEN = 'Gateways take it within a minute.'

interface ImportOptions {
  readonly dryRun?: boolean
  readonly remove?: boolean
}

/** Judged as one that is fetched is, but that a person has looked at it: the past keeps its prices. */
async function putList(pool: Postgres, text: string, origin: string, dryRun: boolean) {
  const offered = { kind: 'litellm' as const, text, origin }
  const judged = await judgePrices(pool, offered, Date.now(), true)
  refuseUnreadable(judged, offered)
  const { catalog, before } = judged
  if (catalog === null || dryRun) return { source: catalog?.source ?? before, stored: false }
  if (!(await putJudged(pool, judged))) throw new Failure(OVERTAKEN)
  await putPriceDoubts(pool, 'litellm', [], origin)
  return { source: catalog.source, stored: true }
}

/** What came with this release, without what was imported. */
async function putBundled(pool: Postgres, dryRun: boolean) {
  const text = bundledText('litellm')
  const current = await findCurrentPriceCatalog(pool, 'litellm')
  const now = Date.now()
  const source = priceCatalogSource('litellm', utcDayOf(now), text)
  if (current === null || current.text === text) return { source: BUNDLED.litellm.source, stored: false }
  if (dryRun) return { source, stored: false }
  const catalog = {
    source,
    kind: 'litellm' as const,
    fetchedSha256: sha256Of(text),
    origin: '--remove',
    dataDay: null,
    fetchedAt: new Date(now),
    inForceFrom: utcDayOf(now),
    text,
  }
  if (!(await putPriceCatalog(pool, catalog, current.source))) throw new Failure(OVERTAKEN)
  return { source, stored: true }
}

const OVERTAKEN = 'nothing is changed: another list was taken at the same time; look again'

const SHOWN_PROBLEMS = 3

async function readList(path: string): Promise<LiteLlmCatalog> {
  let text: string
  try {
    const { size } = await stat(path)
    if (size > MAX_LITELLM_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_LITELLM_BYTES}`)
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new Failure(`nothing is changed: ${path} cannot be read: ${reasonOf(error)}`)
  }
  const { catalog, problems } = readLiteLlmCatalog(text)
  if (catalog !== null) return catalog
  const shown = problems.slice(0, SHOWN_PROBLEMS).join('; ')
  const others = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : ''
  throw new Failure(`nothing is changed: ${path} is not a price list of LiteLLM: ${shown}${others}`)
}

function textOf({ models, passedOver, contradictory }: LiteLlmCatalog, source: string, done: string): string {
  const twice =
    contradictory.length === 0
      ? []
      : [`Left out, as the list has them at two prices: ${contradictory.join(', ')}.`]
  return [
    `${source}: ${models} models at hosts known here, asked for where no other source knows them or they agree.`,
    `${passedOver} entries are of other hosts, of no models, or without a price.`,
    ...twice,
    done,
  ].join('\n')
}
