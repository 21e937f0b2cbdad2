import { z } from 'zod'
import { BUNDLED, bundledText } from '#prices/bundled-lists.ts'
import {
  type LiteLlmCatalog,
  MAX_LITELLM_BYTES,
  readLiteLlmCatalog,
} from '#prices/litellm/litellm-catalog.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { shownCount, shownDocument, shownFlag, shownList, shownText } from '../../operations/answers.ts'
import { flagField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid } from '../../operations/refuse.ts'
import { findCurrentPriceCatalog, putPriceCatalog } from '../refresh/price-catalogs.ts'
import { putPriceDoubts } from '../refresh/price-doubts.ts'
import { catalogOf, judgePrices, putJudged } from '../refresh/take-prices.ts'
import { priceCatalogSource, sha256Of } from '../sources/price-catalog-source.ts'
import { refuseUnreadable } from './update.ts'

/** LiteLLM's list has some two megabytes, and a few more with its quotes escaped. */
const MOST_BODY_BYTES = 16 * 1024 * 1024

interface Imported {
  readonly source: string
  readonly stored: boolean
  /** `null`: what was imported is taken back. */
  readonly catalog: LiteLlmCatalog | null
}

export const importPrices = renderedOperation({
  name: 'prices.import',
  summary: "Takes LiteLLM's price list for all gateways, as the source that is asked last.",
  description: 'It is taken whole or not at all, and the past keeps its prices.',
  role: 'admin',
  http: {
    method: 'POST',
    path: '/prices/import',
    id: 'importPrices',
    body: 'PriceImport',
    bodyLimitBytes: MOST_BODY_BYTES,
  },
  input: {
    list: z
      .string('must be a text')
      .refine(
        (text) => Buffer.byteLength(text) <= MAX_LITELLM_BYTES,
        `must not have more than ${MAX_LITELLM_BYTES} bytes`,
      )
      .meta({ description: "LiteLLM's model_prices_and_context_window.json.", [VALUE]: 'file' })
      .optional(),
    dry_run: flagField('Only says what is in it.').default(false),
    remove: flagField('Takes back what was imported.').default(false),
  },
  check({ list, remove }) {
    if ((list === undefined) !== remove) throw invalid('list', 'must be given, or say remove, and not both')
  },
  answer: shownDocument('ImportedPrices', {
    source: shownText('The price data and its version.'),
    stored: shownFlag('It is in force now.'),
    models: shownCount('Models at hosts known here.'),
    passed_over: shownCount('Entries of other hosts, of no models, or without a price.'),
    contradictory: shownList(shownText('A model.'), 'Left out, as the list has them at two prices.'),
  }),
  gives: 'What was taken.',
  errors: ['conflict'],
  isLong: true,
  changes: {
    event: 'admin.prices_taken',
    says: "LiteLLM's list imported or taken back",
    log: ({ source, stored }) => (stored ? { sources: [source] } : null),
  },
  async run({ pool, now }: Ports, { list, dry_run: dryRun }): Promise<Imported> {
    if (list === undefined) return { ...(await putBundled(pool, now(), dryRun)), catalog: null }
    const catalog = readList(list)
    return { ...(await putList(pool, catalog.text, now(), dryRun)), catalog }
  },
  render: ({ source, stored, catalog }: Imported) => ({
    source,
    stored,
    models: catalog?.models ?? 0,
    passed_over: catalog?.passedOver ?? 0,
    contradictory: catalog?.contradictory ?? [],
  }),
  command: { words: 'prices import', options: { list: '[list-file]' }, print: importedText },
})

type Put = Pick<Imported, 'source' | 'stored'>

const ORIGIN = 'prices import'

/** Judged as one that is fetched is, but that a person has looked at it: the past keeps its prices. */
async function putList(pool: Ports['pool'], text: string, nowMs: number, dryRun: boolean): Promise<Put> {
  const judged = await judgePrices(pool, { kind: 'litellm', text, origin: ORIGIN }, nowMs, true)
  refuseUnreadable(judged, 'the list')
  const { catalog, before } = judged
  if (catalog === null || dryRun) return { source: catalog?.source ?? before, stored: false }
  if (!(await putJudged(pool, judged))) throw conflict(OVERTAKEN)
  await putPriceDoubts(pool, 'litellm', [], ORIGIN)
  return { source: catalog.source, stored: true }
}

/** What came with this release, without what was imported. */
async function putBundled(pool: Ports['pool'], nowMs: number, dryRun: boolean): Promise<Put> {
  const text = bundledText('litellm')
  const current = await findCurrentPriceCatalog(pool, 'litellm')
  if (current === null || current.text === text) return { source: BUNDLED.litellm.source, stored: false }
  const day = utcDayOf(nowMs)
  if (dryRun) return { source: priceCatalogSource('litellm', day, text), stored: false }
  const taken = { nowMs, fetchedSha256: sha256Of(text), origin: '--remove', dataDay: null, from: day }
  const catalog = catalogOf('litellm', text, taken)
  if (!(await putPriceCatalog(pool, catalog, current.source))) throw conflict(OVERTAKEN)
  return { source: catalog.source, stored: true }
}

const OVERTAKEN = 'Nothing is changed: another list was taken at the same time, so look again.'

const SHOWN_PROBLEMS = 3

function readList(text: string): LiteLlmCatalog {
  const { catalog, problems } = readLiteLlmCatalog(text)
  if (catalog !== null) return catalog
  const shown = problems.slice(0, SHOWN_PROBLEMS).join('; ')
  const others = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : ''
  throw invalid('list', `is not a price list of LiteLLM: ${shown}${others}`)
}

function importedText(
  { source, stored, catalog }: Imported,
  { dry_run: dryRun }: { dry_run: boolean },
): string {
  const done = dryRun
    ? 'Nothing is written.'
    : stored
      ? 'Gateways take it within a minute.'
      : 'It is in use already.'
  if (catalog === null) return `What was imported is taken back: the list of this release is used. ${done}`
  const { models, passedOver, contradictory } = catalog
  return [
    `${source}: ${models} models at hosts known here, asked for where no other source knows them or they agree.`,
    `${passedOver} entries are of other hosts, of no models, or without a price.`,
    ...(contradictory.length === 0
      ? []
      : [`Left out, as the list has them at two prices: ${contradictory.join(', ')}.`]),
    done,
  ].join('\n')
}
