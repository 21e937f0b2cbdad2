import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import {
  type CatalogDocument,
  catalogDocumentOf,
  catalogTextOf,
  type PricesDocument,
} from '../sources/catalog-document.ts'
import { parseCatalog } from '../sources/catalog-parse.ts'
import { type CatalogChange, catalogChanges } from './catalog-changes.ts'
import { excessOf, refreshDoubts, repeatedModelOf, wildRuleOf } from './catalog-doubts.ts'
import { pricesFrom } from './catalog-history.ts'
import { keepPastPrices } from './catalog-past.ts'

/** What is to be said of newer price data, and what it would make of that in force. */
export type RefreshJudgement =
  /** It may not be taken. */
  | { readonly kind: 'unreadable'; readonly problems: readonly string[] }
  | {
      readonly kind: 'read'
      /** Why only a person may take it; empty: nothing speaks against it. */
      readonly doubts: readonly string[]
      /** What would be in force, with its old prices; `null`: nothing changes. */
      readonly text: string | null
      readonly changes: readonly CatalogChange[]
      /** The first day of what it changes. */
      readonly from: UtcDay
      /** The newest beginning of a price in it that is past; `null`: it names none. */
      readonly dataDay: UtcDay | null
    }

/** Price data in force. */
export interface CatalogInForce {
  readonly text: string
  /** As {@link RefreshJudgement} has it, of the data as it was fetched. */
  readonly dataDay: UtcDay | null
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
export function judgeRefresh(inForce: CatalogInForce, fetched: string, nowMs: number): RefreshJudgement {
  try {
    return judge(inForce, fetched, nowMs)
  } catch (error) {
    // Data from outside may be made to break what reads it: nested without end, for one.
    return { kind: 'unreadable', problems: [error instanceof Error ? error.message : String(error)] }
  }
}

function judge(
  { text, dataDay: dataDayBefore }: CatalogInForce,
  fetched: string,
  nowMs: number,
): RefreshJudgement {
  const older = readCatalog(text)
  if (older.entries === null) {
    return { kind: 'unreadable', problems: older.problems.map((problem) => `what is in force: ${problem}`) }
  }
  const newer = readCatalog(fetched)
  if (newer.entries === null) return { kind: 'unreadable', problems: newer.problems.slice(0, MOST_PROBLEMS) }
  // Before any name is looked up: all that follows tries the rules of both on the names of both.
  const harm =
    excessOf(older.document, newer.document) ??
    wildRuleOf(older.document, newer.document) ??
    repeatedModelOf(newer.document)
  if (harm !== null) return { kind: 'unreadable', problems: [harm] }
  const from = inForceFrom(nowMs)
  const dataDay = dataDayOf(newer.document, utcDayOf(nowMs))
  const doubts = refreshDoubts({
    before: older.document,
    after: newer.document,
    from,
    dataDayBefore,
    dataDay,
  })
  const merged = keepPastPrices(older.document, newer.document, from)
  const isSame = catalogTextOf(merged) === catalogTextOf(older.document)
  const changes = isSame ? [] : catalogChanges(entriesAt(older.document, from), entriesAt(merged, from))
  return { kind: 'read', doubts, text: isSame ? null : catalogTextOf(merged), changes, from, dataDay }
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

interface ReadCatalog {
  /** `null`: it has problems. */
  readonly entries: CatalogEntries | null
  readonly problems: readonly string[]
  readonly document: CatalogDocument
}

function readCatalog(text: string): ReadCatalog {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const problem = `is not JSON: ${error instanceof Error ? error.message : error}`
    return { entries: null, problems: [problem], document: [] }
  }
  const { entries, problems } = parseCatalog(value, 'refresh')
  return { entries, problems, document: entries === null ? [] : catalogDocumentOf(value) }
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
