import { type CatalogDocument, type ModelDocument, namesOf, rulesOf } from '#prices/catalog-document.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { ComparedRows } from './row-doubts.ts'

/** In nine months of genai-prices' history, 92 % of the models of any version were in the next one. */
const LEAST_KEPT = 0.9
/** There, 4 % of the models changed their prices at once. */
const MOST_CHANGED = 0.25
/** As many again may change in so many days more, but never most of them. */
const DAYS_OF_CHANGES = 60
const MOST_CHANGED_EVER = 0.6
/** Judging takes the square of it. */
const MOST_MODELS_FACTOR = 3
/** Of a list of which nothing is known yet. */
const MOST_AT_FIRST = 5_000

export interface RefreshQuery {
  /** In force, with all that is kept in it. */
  readonly before: CatalogDocument
  /** As it was fetched. */
  readonly after: CatalogDocument
  /** The first day that it would be in force. */
  readonly from: UtcDay
  /** The newest beginning of a price that is past, by the data before as it was fetched, and by the newer data. */
  readonly dataDayBefore: UtcDay | null
  readonly dataDay: UtcDay | null
  /** For how many days nothing newer was taken. */
  readonly days: number
}

/**
 * Whether it lists so many models, or rules for their names, that it is not a price list. `null`: it does
 * not.
 */
export function excessOf(before: CatalogDocument, after: CatalogDocument): string | null {
  const counts = [before, after].map((document) =>
    modelsOf(document).flatMap(({ match }) => [1, ...rulesOf(match)]),
  )
  const [known = 0, listed = 0] = counts.map((counted) => counted.length)
  if (known === 0 && listed <= MOST_AT_FIRST) return null
  return listed > known * MOST_MODELS_FACTOR
    ? `it lists ${listed} models and rules for their names, and ${known} are known`
    : null
}

/** What speaks against the data as a whole, so that only a person may take it: it may be cut, older, or made to do harm. */
export function fileDoubts(query: RefreshQuery, rows: ComparedRows): readonly string[] {
  const { before, after, dataDayBefore, dataDay } = query
  const known = modelsOf(before).filter(({ gone_since: goneSince }) => goneSince === undefined)
  const listed = modelsOf(after)
  const doubts: string[] = []
  const names = new Set(listed.flatMap(namesOf))
  const kept = known.filter(({ id }) => names.has(id.toLowerCase())).length
  if (kept < known.length * LEAST_KEPT)
    doubts.push(`it lists ${kept} of the ${known.length} models that are known`)
  if (dataDayBefore !== null && (dataDay === null || dataDay < dataDayBefore)) {
    doubts.push(
      `it is older: its newest price is of ${dataDay ?? 'no day'}, that in force of ${dataDayBefore}`,
    )
  }
  return [...doubts, ...manyChanges(query, rows)]
}

function manyChanges({ before, after, days }: RefreshQuery, rows: ComparedRows): readonly string[] {
  const { known, changed, back } = rows
  const knownNames = new Set(modelsOf(before).flatMap(namesOf))
  const added = modelsOf(after).some(({ id }) => !knownNames.has(id.toLowerCase()))
  const share = Math.min(MOST_CHANGED_EVER, MOST_CHANGED * Math.max(1, days / DAYS_OF_CHANGES))
  return [
    ...(changed > Math.max(share * known, 1) ? [`it changes ${changed} of ${known} prices at once`] : []),
    ...(back > 0 && back === changed && !added
      ? [`it is older: all that it changes is prices of ${back} names, back to what they were before`]
      : []),
  ]
}

function modelsOf(document: CatalogDocument): readonly ModelDocument[] {
  return document.flatMap(({ models }) => models)
}

/**
 * What is wild in the rules of one row, new in the data, that may take for ever: they must not be tried on any name, as those
 * of clients, or of the data itself, may be made for it. `null`: nothing is.
 *
 * @param known Regular expressions of the data in force.
 */
export function wildRuleOf(match: unknown, known: ReadonlySet<string>): string | null {
  const wild = regexesOf(match).find((regex) => !known.has(regex) && isWild(regex))
  return wild === undefined ? null : `it matches names by ${wild.slice(0, 80)}, which may take for ever`
}

/** The regular expressions of all rows. */
export function knownRegexes(document: CatalogDocument): ReadonlySet<string> {
  return new Set(modelsOf(document).flatMap(({ match }) => regexesOf(match)))
}

function regexesOf(match: unknown): readonly string[] {
  return rulesOf(match).flatMap(([operator, operand]) => (operator === 'regex' ? [operand] : []))
}

const REPEATED_GROUP = /\)[*+{]|\\[1-9k]/
const REPEAT = /[*+]|\{[0-9]+,/g
/** What may be left out, and what may take several values; not the property that says a group's kind. */
const CHOICE = /(?<!\()\?|\|/g
/** Each goes over the whole name, of 256 characters at most, once more for every place in it; so does a free start. */
const REPEAT_BITS = 8
/** Each may be tried both ways for all that is before it: a million steps for a name at most. */
const MOST_BITS = 20

function isWild(regex: string): boolean {
  const count = (part: RegExp) => regex.match(part)?.length ?? 0
  const free = regex.startsWith('^') ? 0 : REPEAT_BITS
  return REPEATED_GROUP.test(regex) || count(REPEAT) * REPEAT_BITS + count(CHOICE) + free > MOST_BITS
}
