import { z } from 'zod'
import { GatewayError } from '../../http/errors.ts'
import {
  shownChoice,
  shownDayOrNull,
  shownDocument,
  shownFlag,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { flagField, textField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { conflict } from '../../operations/refuse.ts'
import { printable, renderTable } from '../../operations/table.ts'
import type { CatalogChange } from '../history/catalog-changes.ts'
import { putPriceDoubts } from '../refresh/price-doubts.ts'
import { PRICE_KINDS } from '../refresh/stored-prices.ts'
import { type Judged, judgePrices, type OfferedPrices, putJudged } from '../refresh/take-prices.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'

/** What a source was asked for by hand. `unreachable`: it gave nothing that could be judged. */
export type Asked =
  | { readonly kind: PriceCatalogKind; readonly offered: OfferedPrices }
  | { readonly kind: PriceCatalogKind; readonly unreachable: string }

export interface UpdatePorts extends Ports {
  /** Price data of a path, or of every source that has a URL where none is named. */
  findOfferedPrices(path: string | null): Promise<readonly Asked[]>
}

/** Of one source. */
interface Updated {
  readonly source: PriceCatalogKind
  readonly judged: Judged | null
  readonly stored: boolean
  /** Why nothing of it was taken; `null`: nothing speaks against it. */
  readonly problem: string | null
}

const SOURCE = shownDocument('PriceUpdateOfSource', {
  source: shownChoice(PRICE_KINDS, 'The list.'),
  from: shownText('The price data that was in force.').optional(),
  to: shownText('The price data that is newer; the same: there is none.').optional(),
  in_force_from: shownDayOrNull('The first UTC day of what it changes.').optional(),
  changes: shownList(
    z.strictObject({
      provider: shownText('The provider.'),
      model: shownText('The model.'),
      what: shownText('The rate that changes; model: all of it came or went.'),
      before: shownTextOrNull('The rate before.'),
      after: shownTextOrNull('The rate now.'),
    }),
    'What changes.',
  ).optional(),
  doubts: shownList(shownText('A doubt.'), 'What speaks against all of it.').optional(),
  held: shownList(
    z.strictObject({
      provider: shownText('The provider.'),
      model: shownText('The model.'),
      why: shownText('Why its newer price waits for a person.'),
    }),
    'Models that keep their price.',
  ).optional(),
  stored: shownFlag('It is in force now, or from that day on.').optional(),
  problem: shownText('Why nothing of it was taken.').optional(),
})

const PATH = textField(
  "genai-prices' data.json, or the folder of its unpacked package. Without it: every source is asked.",
  'path',
).optional()

const COMMON = {
  answer: shownList(SOURCE),
  gives: 'Each source that has a URL.',
  errors: ['conflict'] as const,
  isLong: true,
  render: (updated: readonly Updated[]) => updated.map(renderUpdated),
}

/** The command's JSON is of the first source, and has all where there are several. */
function jsonOf(updated: readonly Updated[]): unknown {
  const [first, ...others] = updated.map(renderUpdated)
  return others.length === 0 ? first : { ...first, sources: [first, ...others] }
}

const COMMAND = {
  options: { path: '[path]' },
  json: jsonOf,
  print: (updated: readonly Updated[]) => updated.map(updatedText).join('\n\n'),
  exitCode: (updated: readonly Updated[]) => (updated.some(({ problem }) => problem !== null) ? 1 : 0),
} as const

export const updatePrices = renderedOperation({
  ...COMMON,
  name: 'prices.update',
  summary: 'Takes newer prices for all gateways, and shows what changes.',
  role: 'admin',
  http: {
    method: 'POST',
    path: '/prices/update',
    id: 'updatePrices',
    body: 'PriceUpdate',
    without: ['path'],
  },
  input: {
    path: PATH,
    dry_run: flagField('Only shows what would change.').default(false),
    force: flagField('Takes what is doubtful, too: you have looked at it.').default(false),
  },
  run: (ports: UpdatePorts, { path = null, dry_run: dryRun, force }) =>
    update(ports, path, { dryRun, force }),
  changes: {
    event: 'admin.prices_taken',
    says: 'newer prices taken',
    log: (updated) => {
      const sources = updated.flatMap(({ source, stored }) => (stored ? source : []))
      return sources.length === 0 ? null : { sources }
    },
  },
  command: { ...COMMAND, words: 'prices update' },
})

export const diffPrices = renderedOperation({
  ...COMMON,
  name: 'prices.diff',
  summary: 'Shows what newer prices would change, and what speaks against them.',
  role: 'read',
  http: { method: 'GET', path: '/prices/diff', id: 'diffPrices', without: ['path'] },
  input: { path: PATH },
  run: (ports: UpdatePorts, { path = null }) => update(ports, path, { dryRun: true, force: false }),
  command: { ...COMMAND, words: 'prices diff' },
})

interface UpdateOrder {
  readonly dryRun: boolean
  readonly force: boolean
}

async function update(
  { pool, now, findOfferedPrices, remark }: UpdatePorts,
  path: string | null,
  order: UpdateOrder,
): Promise<readonly Updated[]> {
  const updated: Updated[] = []
  for (const asked of await findOfferedPrices(path)) {
    updated.push(
      await updateSource(pool, asked, now(), order).catch((error: unknown) => {
        if (!(error instanceof GatewayError)) throw error
        return { source: asked.kind, judged: null, stored: false, problem: error.message }
      }),
    )
  }
  const problems = updated.flatMap(({ problem }) => problem ?? [])
  if (updated.length === 0) throw conflict('No source has a URL: set PRICES_URL.')
  // Where nothing at all came of it, as of one path, it is an error and no result.
  if (problems.length === updated.length) throw conflict(problems.join(' '))
  for (const problem of problems) remark(problem)
  return updated
}

async function updateSource(
  pool: Ports['pool'],
  asked: Asked,
  nowMs: number,
  { dryRun, force }: UpdateOrder,
): Promise<Updated> {
  if ('unreachable' in asked) throw conflict(`Nothing is changed: ${asked.unreachable}.`)
  const { kind, offered } = asked
  const judged = await judgePrices(pool, offered, nowMs, force)
  refuseUnreadable(judged, offered.origin)
  const { catalog, doubts, held } = judged
  if (!dryRun && !force && catalog !== null && doubts.length > 0) {
    throw conflict(
      `Nothing is changed: ${offered.origin} is doubtful: ${doubts.join('; ')}. Look at prices diff: force takes it all the same.`,
    )
  }
  const stored = !dryRun && catalog !== null
  if (stored && !(await putJudged(pool, judged)))
    throw conflict('Nothing is changed: other prices were taken at the same time, so look again.')
  if (!dryRun) await putPriceDoubts(pool, kind, held, offered.origin)
  return { source: kind, judged, stored, problem: null }
}

const SHOWN_PROBLEMS = 5

/** @throws {GatewayError} Where it must not be taken. */
export function refuseUnreadable({ problems }: Judged, origin: string): void {
  if (problems.length === 0) return
  const more = problems.length > SHOWN_PROBLEMS ? `; and ${problems.length - SHOWN_PROBLEMS} more` : ''
  throw conflict(
    `Nothing is changed: ${origin} is not a catalog: ${problems.slice(0, SHOWN_PROBLEMS).join('; ')}${more}.`,
  )
}

function renderUpdated({ source, judged, stored, problem }: Updated) {
  if (judged === null) return { source, problem: problem ?? '' }
  const { before, catalog, from, changes, doubts, held } = judged
  return {
    source,
    from: before,
    to: catalog?.source ?? before,
    in_force_from: catalog === null ? null : from,
    changes,
    doubts,
    held: held.map(({ provider, model, why }) => ({ provider, model, why })),
    stored,
  }
}

function updatedText({ source, judged, stored, problem }: Updated): string {
  if (judged === null) return `${source}: ${problem}`
  const { before, catalog } = judged
  const done = stored
    ? `${before} -> ${catalog?.source}. Gateways take it within a minute.`
    : catalog === null
      ? `${before} has all of it already.`
      : `${before} -> ${catalog.source}: nothing is written.`
  return [...judgedText(judged), '', done].join('\n')
}

const SHOWN_CHANGES = 60

/** The changes, and the doubts about them, as text. */
function judgedText({ changes, doubts, held, from, catalog }: Judged): string[] {
  const shown = changes.slice(0, SHOWN_CHANGES)
  const table = renderTable(
    ['PROVIDER', 'MODEL', 'WHAT', 'BEFORE', 'AFTER'].map((heading) => ({ heading })),
    shown.map((change) => rowOf(change)),
  )
  const more = changes.length > shown.length ? [`and ${changes.length - shown.length} more: see --json`] : []
  return [
    ...(changes.length === 0
      ? ['No price changes.']
      : [table, ...more, '', ...describeChanges(changes, from)]),
    ...(catalog === null ? [] : doubts.map((doubt) => `Doubtful: ${doubt}.`)),
    ...heldText(held),
  ]
}

const SHOWN_HELD = 20

function heldText(held: Judged['held']): string[] {
  if (held.length === 0) return []
  const shown = held.slice(0, SHOWN_HELD)
  const more = held.length > shown.length ? [`  and ${held.length - shown.length} more: see --json`] : []
  return [
    `${held.length} models keep their old price, as the newer one is doubted; take one with prices accept PROVIDER/MODEL:`,
    ...shown.map(({ provider, model, why }) => `  ${printable(`${provider}/${model}: ${why}`)}`),
    ...more,
  ]
}

function rowOf({ provider, model, what, before, after }: CatalogChange): string[] {
  const isGone = what === 'model' && after === null
  return [provider, model, what, before ?? '-', isGone ? 'no longer listed: keeps its price' : (after ?? '-')]
}

function describeChanges(changes: readonly CatalogChange[], from: string | null): string[] {
  const added = changes.filter(({ what, before }) => what === 'model' && before === null).length
  const gone = changes.filter(({ what, after }) => what === 'model' && after === null).length
  const rates = changes.length - added - gone
  return [
    `${added} new models, ${rates} changed rates (from ${from} on, or the day that the source says), ${gone} models no longer listed.`,
  ]
}
