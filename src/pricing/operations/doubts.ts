import { z } from 'zod'
import { BUNDLED, bundledText } from '#prices/bundled-lists.ts'
import {
  shownChoice,
  shownDay,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
} from '../../operations/answers.ts'
import { flagField, textField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import { printable, renderTable } from '../../operations/table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { acceptRows } from '../history/catalog-refresh.ts'
import { findCurrentPriceCatalog, putPriceCatalog } from '../refresh/price-catalogs.ts'
import { dropPriceDoubts, type PriceDoubt, selectPriceDoubts } from '../refresh/price-doubts.ts'
import { PRICE_KINDS } from '../refresh/stored-prices.ts'
import { catalogOf } from '../refresh/take-prices.ts'
import { dayInSource, sha256Of } from '../sources/price-catalog-source.ts'

const DOUBT = shownDocument('PriceDoubt', {
  source: shownChoice(PRICE_KINDS, 'The list that says it.'),
  provider: shownText('The provider, as the list calls it.'),
  model: shownText('The model, as the list calls it.'),
  why: shownText('Why it is doubted.'),
  offered: z.unknown().describe('The newer prices, in the form of the list. null: they cannot be read.'),
  origin: shownText('The URL or file that it came from.'),
  since: shownMoment('The time at which it was first seen.'),
})

export const listDoubts = renderedOperation({
  name: 'prices.doubts',
  summary: 'Shows newer prices that wait for a person, and why. The old ones stand until then.',
  role: 'read',
  http: { method: 'GET', path: '/prices/doubts', id: 'listPriceDoubts' },
  input: {},
  answer: shownList(DOUBT),
  gives: 'What waits, the oldest first.',
  run: ({ pool }: Ports) => selectPriceDoubts(pool),
  render: (doubts: readonly PriceDoubt[]) => doubts.map(renderDoubt),
  command: { words: 'prices doubts', print: textOf },
})

export const acceptDoubted = renderedOperation({
  name: 'prices.accept',
  summary: 'Takes newer prices that wait, for all gateways from the next UTC day on.',
  role: 'admin',
  http: { method: 'POST', path: '/prices/doubts/accept', id: 'acceptPriceDoubt', body: 'PriceDoubtName' },
  input: {
    models: z
      .array(z.string('must be a text'), 'must be a list of names')
      .describe('Each as the list of doubts names it: PROVIDER/MODEL.')
      .optional(),
    all: flagField('All that wait.').default(false),
    provider: textField('With model, in place of models: the provider.').optional(),
    model: textField('With provider, in place of models: the model.').optional(),
  },
  check({ models = [], all, provider, model }) {
    if (model !== undefined && provider === undefined) throw invalid('model', 'needs provider')
    if (provider !== undefined && model === undefined) throw invalid('provider', 'needs model')
    const ways = [models.length > 0, all, model !== undefined].filter(Boolean).length
    if (ways !== 1) throw invalid('models', 'must name some as the list of doubts does, or say all')
  },
  answer: shownDocument('AcceptedPrices', {
    accepted: shownList(DOUBT),
    in_force_from: shownDay('The first UTC day on which they are in force.'),
  }),
  gives: 'What was taken.',
  errors: ['not_found', 'conflict'],
  changes: {
    event: 'admin.prices_taken',
    says: 'doubted prices accepted',
    log: ({ doubts }) => ({ models: doubts.length }),
  },
  async run({ pool, now }: Ports, { models = [], all, provider, model }) {
    const named = provider === undefined || model === undefined ? models : [nameOf({ provider, model })]
    const known = new Set((await selectPriceDoubts(pool)).map(nameOf))
    const unknown = named.filter((name) => !known.has(name))
    if (unknown.length > 0)
      throw notFound(
        `Nothing is changed: ${unknown.join(', ')} does not wait.`,
        undefined,
        'prices doubts shows what does',
      )
    const accepted = await acceptDoubts(pool, (doubt) => all || named.includes(nameOf(doubt)), now())
    switch (accepted.kind) {
      case 'accepted':
        return accepted
      case 'missing':
        throw notFound('Nothing is changed: no price waits.')
      case 'overtaken':
        throw conflict('Other prices were taken at the same time: look again at what waits.')
      case 'unreadable':
        throw conflict(
          `Nothing is changed: the source has no newer price that can be read: ${accepted.doubts.map((doubt) => `${nameOf(doubt)} ${doubt.why}`).join('; ')}.`,
        )
      default:
        return accepted satisfies never
    }
  },
  render: ({ doubts, from }: { readonly doubts: readonly PriceDoubt[]; readonly from: string }) => ({
    accepted: doubts.map(renderDoubt),
    in_force_from: from,
  }),
  command: {
    words: 'prices accept',
    options: { models: '[models...]', provider: null, model: null },
    print: ({ doubts, from }) =>
      [
        ...doubts.map((doubt) => printable(`${nameOf(doubt)}: ${doubt.why}`)),
        `The newer price is in force from ${from} on. Gateways take it within a minute.`,
      ].join('\n'),
  },
})

/** As `prices accept` has it: `provider/model`. */
function nameOf({ provider, model }: Pick<PriceDoubt, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

function textOf(doubts: readonly PriceDoubt[]): string {
  if (doubts.length === 0) return 'No price waits for a person.'
  const table = renderTable(
    ['MODEL', 'WHY', 'SOURCE', 'SINCE'].map((heading) => ({ heading })),
    doubts.map((doubt) => [
      printable(nameOf(doubt)),
      printable(doubt.why),
      doubt.kind,
      doubt.since.toISOString().slice(0, 10),
    ]),
  )
  return `${table}\n\nTheir old prices stand. If a newer one is right: prices accept PROVIDER/MODEL.`
}

/** What a person has accepted: `missing`: nothing of it waits; `unreadable`: its source wrote it wrong. */
type Accepted =
  | { readonly kind: 'accepted'; readonly doubts: readonly PriceDoubt[]; readonly from: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly doubts: readonly PriceDoubt[] }
  | { readonly kind: 'overtaken' }

/** Puts the newer prices of what waits in force from the next day on; what `wanted` says of. */
async function acceptDoubts(
  pool: Postgres,
  wanted: (doubt: PriceDoubt) => boolean,
  nowMs: number,
): Promise<Accepted> {
  const waiting = (await selectPriceDoubts(pool)).filter(wanted)
  const readable = waiting.filter(({ offered }) => offered !== null)
  if (readable.length === 0) {
    return waiting.length === 0 ? { kind: 'missing' } : { kind: 'unreadable', doubts: waiting }
  }
  let day = ''
  for (const kind of PRICE_KINDS) {
    const doubts = readable.filter((doubt) => doubt.kind === kind)
    const [first] = doubts
    if (first === undefined) continue
    const stored = await findCurrentPriceCatalog(pool, kind)
    const inForce =
      stored === null
        ? { text: bundledText(kind), knownSince: BUNDLED[kind].day }
        : { text: stored.text, knownSince: dayInSource(stored.source) }
    const { text, from } = acceptRows(inForce, doubts, nowMs)
    const taken = {
      nowMs: stored?.fetchedAt.getTime() ?? Date.parse(BUNDLED[kind].day),
      fetchedSha256: stored?.fetchedSha256 ?? sha256Of(text),
      origin: first.origin,
      dataDay: stored?.dataDay ?? BUNDLED[kind].day,
      from,
    }
    // Accepting a price does not make the rest of the data newer, so its day stays.
    const catalog = catalogOf(kind, text, taken)
    if (!(await putPriceCatalog(pool, catalog, stored?.source ?? null))) return { kind: 'overtaken' }
    await dropPriceDoubts(pool, doubts)
    day = from
  }
  return { kind: 'accepted', doubts: readable, from: day }
}

/** As JSON, the same on the command line and over HTTP. */
function renderDoubt({ kind, provider, model, why, offered, origin, since }: PriceDoubt) {
  return {
    source: kind,
    provider,
    model,
    why,
    offered: offered?.prices ?? null,
    origin,
    since: since.toISOString(),
  }
}
