import {
  type CatalogDocument,
  catalogTextOf,
  type ModelDocument,
  namesOf,
  type PricesDocument,
} from '#prices/catalog-document.ts'
import { readModelName } from '../../domain/model-name.ts'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { compileMatch } from '../catalog/catalog-match.ts'
import { BELIEVED_LISTS, CATALOG_PROVIDER_IDS } from '../catalog/catalog-providers.ts'
import { parseCatalog } from '../sources/catalog-parse.ts'
import { type CatalogChange, catalogChanges } from './catalog-changes.ts'
import { fileDoubts } from './catalog-doubts.ts'
import { pricesFrom } from './catalog-history.ts'
import { type FindPrices, findInBoth, findPricesIn, heldKey, keepPastPrices } from './catalog-past.ts'
import { followMaker, makerChanges, putBackAccepted, takeOutAccepted } from './maker-changes.ts'
import { type HeldRow, type ReadRows, readCatalog, readRows } from './read-rows.ts'
import type { RowDoubt } from './row-doubt.ts'
import { compareRows } from './row-doubts.ts'
import { witnessOf } from './witnesses.ts'

/** What is to be said of newer price data, and what it would make of that in force. */
export type RefreshJudgement =
  /** It may not be taken. */
  | { readonly kind: 'unreadable'; readonly problems: readonly string[] }
  | {
      readonly kind: 'read'
      /** What speaks against all of it, so that only a person may take it; empty: nothing does. */
      readonly doubts: readonly string[]
      /** What only a person may take; the rest comes into force without it. */
      readonly held: readonly HeldRow[]
      /** What would be in force, with its old prices; `null`: nothing changes. */
      readonly text: string | null
      readonly changes: readonly CatalogChange[]
      /** The first day of what it changes. */
      readonly from: UtcDay
      /** The newest beginning of a price in it that is past; `null`: it names none. */
      readonly dataDay: UtcDay | null
    }

/** What newer data is judged with. */
export interface JudgeOptions {
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** For how many days nothing newer was taken; left out: for less than two months. */
  readonly days?: number
  /** The other sources. */
  readonly others?: readonly CatalogEntries[]
  /** A person has looked at it: nothing is held. */
  readonly acceptAll?: boolean
}

/** Price data in force. */
export interface CatalogInForce {
  readonly text: string
  /** As {@link RefreshJudgement} has it, of the data as it was fetched. */
  readonly dataDay: UtcDay | null
  /** Since when its prices are known, where it does not say; left out: since ever. */
  readonly knownSince?: UtcDay | null
}

/** A refresh later than this before midnight is too late for the next day: not every gateway may have it by then. */
const TAKE_UP_MS = 3_600_000
/** More than are shown; they may be as many as there are models. */
const MOST_PROBLEMS = 100

/**
 * The first day of what a refresh changes: the next one in UTC, so that no price changes within a day and what is
 * priced already stays so; in the last hour of a day, the one after.
 */
export function inForceFrom(nowMs: number): UtcDay {
  return addDays(utcDayOf(nowMs + TAKE_UP_MS), 1)
}

/** Judges price data against that in force. Never throws, whatever was fetched. */
export function judgeRefresh(
  inForce: CatalogInForce,
  fetched: string,
  options: JudgeOptions,
): RefreshJudgement {
  try {
    return judge(inForce, fetched, options)
  } catch (error) {
    // Data from outside may be made to break what reads it: nested without end, for one.
    return { kind: 'unreadable', problems: [error instanceof Error ? error.message : String(error)] }
  }
}

function judge(
  { text: before, dataDay: dataDayBefore, knownSince = null }: CatalogInForce,
  fetched: string,
  { nowMs, days = 0, others = [], acceptAll = false }: JudgeOptions,
): RefreshJudgement {
  const whole = readCatalog(before)
  const { listed, accepted } = takeOutAccepted(whole.document)
  const older = { ...whole, document: listed }
  if (older.problems.length > 0) {
    return { kind: 'unreadable', problems: older.problems.map((problem) => `what is in force: ${problem}`) }
  }
  const read = readRows(fetched, older.document)
  if (read.problems.length > 0) return { kind: 'unreadable', problems: read.problems.slice(0, MOST_PROBLEMS) }
  const newer = withoutTakers(older.document, read)
  const from = inForceFrom(nowMs)
  const dataDay = dataDayOf(newer.document, utcDayOf(nowMs))
  const find = findInBoth(older.document, newer.document)
  const rows = compareRows({
    find,
    before: older.document,
    after: newer.document,
    from,
    believed: BELIEVED_LISTS,
    witness: witnessOf(others, Date.parse(from)),
  })
  const query = { before: older.document, after: newer.document, from, dataDayBefore, dataDay, days }
  const doubts = fileDoubts(query, rows)
  const unread = unreadNames(older.document, newer.unread)
  // A name whose own row cannot be read keeps its price, whatever another row says of it.
  const doubted = acceptAll
    ? []
    : rows.doubts.filter(({ provider, name }) => !unread.has(heldKey(provider, name)))
  const keys = [...unread, ...doubted.map(({ provider, name }) => heldKey(provider, name))]
  const merged = keepPastPrices(older.document, newer.document, from, new Set(keys), find)
  const seen = { find: find.before, knownSince, today: utcDayOf(nowMs) }
  const inForce = catalogTextOf(withKnownDays(whole.document, whole.document, seen))
  const newest = withKnownDays(putBackAccepted(merged, accepted), whole.document, seen)
  const text = catalogTextOf(newest)
  const isSame = text === inForce
  const changes = isSame ? [] : catalogChanges(entriesAt(older.document, from), entriesAt(merged, from))
  return {
    kind: 'read',
    doubts,
    held: [
      ...newer.unread,
      ...heldRows(doubted, newer.document),
      ...goneLists(merged, from),
      ...makerChanges(newest, others, from),
    ],
    text: isSame ? null : text,
    changes,
    from,
    dataDay,
  }
}

/** Rows whose rules take any name, or names of other rows, are as good as unread. */
function withoutTakers(
  older: CatalogDocument,
  { document, unread }: ReadRows,
): Pick<ReadRows, 'document' | 'unread'> {
  const known = new Map(older.map(({ id, models }) => [id, models]))
  const takers = document.flatMap(({ id, models }) => takersOf(id, models, known.get(id) ?? []))
  if (takers.length === 0) return { document, unread }
  const left = new Set(takers.map(({ provider, model }) => heldKey(provider, model)))
  const sound = document.map(({ models, ...provider }) => ({
    ...provider,
    models: models.filter(({ id }) => !left.has(heldKey(provider.id, id))),
  }))
  return { document: sound, unread: [...unread, ...takers] }
}

/** The names, as `heldKey` writes them, of models that are known and whose newer rows cannot be read. */
function unreadNames(older: CatalogDocument, unread: readonly HeldRow[]): ReadonlySet<string> {
  const rows = new Set(unread.map(({ provider, model }) => heldKey(provider, model)))
  return new Set(
    older.flatMap(({ id, models }) =>
      models
        .filter((model) => rows.has(heldKey(id, model.id)))
        .flatMap((model) => namesOf(model).map((name) => heldKey(id, name))),
    ),
  )
}

/** By model, whichever of its names are doubted. */
function heldRows(doubts: readonly RowDoubt[], newer: CatalogDocument): readonly HeldRow[] {
  const byModel = Map.groupBy(doubts, ({ provider, model }) => `${provider}\n${model}`)
  return [...byModel.values()].flatMap(([first]) => {
    if (first === undefined) return []
    const { provider, model, why } = first
    const listed = newer.find(({ id }) => id === provider)?.models.find(({ id }) => id === model)
    return [{ provider, model, why, offered: listed ?? null }]
  })
}

/** Of fewer models it says little that they are gone, and after so many days it is known. */
const ENOUGH_MODELS = 5
const GONE_DAYS = 30

/** Providers of which the source has lately stopped to list any model: it may call them by another name, and their prices age. */
function goneLists(merged: CatalogDocument, from: UtcDay): readonly HeldRow[] {
  return merged.flatMap(({ id: provider, models }): HeldRow[] => {
    const own = models.filter(({ moved_since: moved }) => moved === undefined)
    const last = own.map(({ gone_since: gone }) => gone ?? null)
    const isLately = last.some((gone) => gone !== null && gone > addDays(from, -GONE_DAYS))
    if (!CATALOG_PROVIDER_IDS.includes(provider) || own.length < ENOUGH_MODELS) return []
    if (!isLately || last.includes(null)) return []
    const why = `none of its ${own.length} models is listed any more, so that their prices stay as they are`
    return [{ provider, model: '*', why, offered: null }]
  })
}

/**
 * What is in force, with rows that a person has accepted: each model, and each name of it that stands by itself, has its
 * newer prices from `from` on.
 *
 * @throws {Error} when what is in force is not a catalog.
 */
export function acceptRows(
  { text, knownSince = null }: Pick<CatalogInForce, 'text' | 'knownSince'>,
  rows: readonly HeldRow[],
  nowMs: number,
) {
  const { listed: document, accepted } = takeOutAccepted(readCatalog(text).document)
  const from = inForceFrom(nowMs)
  const followed = new Map(accepted)
  const providers = new Map(document.map((provider) => [provider.id, provider]))
  for (const { provider: id, offered } of rows) {
    if (offered === null) continue
    if (offered.sells_for !== undefined) {
      followed.set(id, followMaker(document, followed.get(id) ?? [], offered, from))
      continue
    }
    const provider = providers.get(id) ?? { id, models: [] }
    const names = new Set(namesOf(offered))
    const isKnown = provider.models.some((model) => model.id === offered.id)
    const models = provider.models.map((model) => {
      if (model.id === offered.id) return offered
      return model.moved_since !== undefined && names.has(model.id)
        ? { ...model, prices: offered.prices }
        : model
    })
    providers.set(id, { ...provider, models: isKnown ? models : [...models, offered] })
  }
  const merged = keepPastPrices(document, [...providers.values()], from)
  const seen = { find: findPricesIn(document), knownSince, today: utcDayOf(nowMs) }
  const newest = putBackAccepted(merged, followed)
  return { text: catalogTextOf(withKnownDays(newest, putBackAccepted(document, accepted), seen)), from }
}

/** What is listed, at the prices in force from a day on. */
function entriesAt(document: CatalogDocument, from: UtcDay): CatalogEntries {
  const listed = document.map((provider) => ({
    ...provider,
    models: provider.models
      .filter(({ gone_since: gone, moved_since: moved }) => gone === undefined && moved === undefined)
      .map((model) => ({
        ...model,
        prices: pricesFrom(model.prices, from).map((entry) => begun(entry, from)),
      })),
  }))
  const { entries, problems } = parseCatalog(listed, 'refresh')
  if (entries === null) throw new Error(`merged prices are not a catalog: ${problems[0]}`)
  return entries
}

/** That the prices in force began is not to be compared. */
function begun({ constraint, prices }: PricesDocument, from: UtcDay): PricesDocument {
  if (constraint?.start_date !== from) return { ...(constraint === undefined ? {} : { constraint }), prices }
  const { start_date: _, ...hours } = constraint
  return Object.keys(hours).length === 0 ? { prices } : { constraint: hours, prices }
}

/** The newest day, up to `today`, from which on a price in it is in force; `null`: it names none. */
export function dataDayOf(document: CatalogDocument, today: UtcDay): UtcDay | null {
  const days = document.flatMap(({ models }) =>
    models.flatMap(({ prices }) => prices.flatMap(({ constraint }) => constraint?.start_date ?? [])),
  )
  return (
    days
      .filter((day) => day <= today)
      .sort()
      .at(-1) ?? null
  )
}

/** The same of a text; `null` also where it is not a catalog. */
export function dataDayOfText(text: string, today: UtcDay): UtcDay | null {
  return dataDayOf(readCatalog(text).document, today)
}

/** What is known of the days on which prices were first seen. */
interface SeenPrices {
  /** The prices of names before. */
  readonly find: FindPrices
  /** Since when the older list is known, where it does not say; `null`: since ever. */
  readonly knownSince: UtcDay | null
  readonly today: UtcDay
}

/**
 * A newer catalog that says since when prices without a day of their own are known: a list since it was first in force here,
 * and a model that had no price before since today.
 */
function withKnownDays(
  merged: CatalogDocument,
  before: CatalogDocument,
  { find, knownSince, today }: SeenPrices,
): CatalogDocument {
  const older = new Map(before.map((provider) => [provider.id, provider]))
  return merged.map(({ known_since: _, models, ...provider }) => {
    const old = older.get(provider.id)
    const since = old === undefined ? today : (old.known_since ?? knownSince)
    const known = new Map(old?.models.map((model) => [model.id, model]))
    const stamped = models.map((model): ModelDocument => {
      const { known_since: __, ...rest } = model
      const own = known.get(model.id)?.known_since ?? firstSeen(model)
      return own === undefined || own === since ? rest : { ...rest, known_since: own }
    })
    return { ...provider, ...(since === null ? {} : { known_since: since }), models: stamped }
    function firstSeen({ id, prices, moved_since: moved }: ModelDocument): UtcDay | undefined {
      const had = find(provider.id, id)?.some(hasPrices) === true
      return had || moved !== undefined || !prices.some(hasPrices) ? undefined : today
    }
  })
}

function hasPrices({ prices }: ModelDocument['prices'][number]): boolean {
  return Object.keys(prices).length > 0
}

/** As models are called, and no model is. */
const NO_MODEL = readModelName('zz-no-such-model-q')

/**
 * Rows of a provider whose rules take any name, so that whatever is not known would have their price, or the whole names of
 * other rows at another price. What a row took before it may take on. No rule is wild, as `wildRuleOf` says.
 */
function takersOf(
  provider: string,
  models: readonly ModelDocument[],
  older: readonly ModelDocument[],
): readonly HeldRow[] {
  const rules = new Map(older.map(({ id, match }) => [id, JSON.stringify(match)]))
  const changed = models.filter(({ id, match }) => rules.get(id) !== JSON.stringify(match))
  if (changed.length === 0) return []
  const named = models.flatMap((model) =>
    namesOf(model).map((name) => ({ name: readModelName(name), model })),
  )
  return changed.flatMap((model): HeldRow[] => {
    const rule = compileMatch(model.match)
    if (NO_MODEL !== null && rule?.(NO_MODEL) === 'exact')
      return [{ provider, model: model.id, why: 'takes any name', offered: null }]
    const taken = named.find(
      (other) =>
        other.model !== model &&
        other.name !== null &&
        rule?.(other.name) === 'exact' &&
        JSON.stringify(other.model.prices) !== JSON.stringify(model.prices),
    )
    if (taken === undefined) return []
    return [
      {
        provider,
        model: model.id,
        why: `takes the name ${taken.name?.text} of ${taken.model.id}`,
        offered: model,
      },
    ]
  })
}
