import { BILLED_UNITS, type BilledUnit, type BilledUnits, MAX_COUNT, NO_UNITS } from '../../call/usage.ts'
import type { JsonObject } from './json-value.ts'

/** Units as an answer reports them; it says nothing of those that are `null` or left out. */
export type ReportedUnits = Partial<BilledUnits> | null | undefined

/** Seconds as JSON has them, fractions allowed, in whole milliseconds; `null` for anything else. */
export function millisecondsIn(seconds: unknown): number | null {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return null
  const milliseconds = Math.round(seconds * 1000)
  return milliseconds <= MAX_COUNT ? milliseconds : null
}

/** A count of units, fractions not allowed; `null` for anything that is none. */
export function unitsIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT
    ? value
    : null
}

/** Seconds as a number or as text (`8`, `"8"`, `"8s"`), in whole milliseconds; `null` for anything else. */
export function secondsAsMs(value: unknown): number | null {
  if (typeof value !== 'string') return millisecondsIn(value)
  return /^\d{1,6}(?:\.\d{1,6})?s?$/.test(value) ? millisecondsIn(Number.parseFloat(value)) : null
}

/**
 * The tier of what costs by its size or quality where that is not known: it has no price, as none of those that are
 * listed may be taken for it.
 */
export const UNKNOWN_SIZE = 'unknown_size'

/** A word of a request: `null` where it says none, `undefined` where what it says is not text. */
export function wordIn(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : undefined
}

/** The memory of a container as OpenAI writes it (`4g`), in GB; `null` for anything else. */
export function gigabytesIn(limit: unknown): number | null {
  const gigabytes = typeof limit === 'string' ? /^(\d{1,4})g$/.exec(limit)?.[1] : undefined
  return gigabytes === undefined ? null : Number(gigabytes)
}

/** Characters as people count them: Unicode's code points. `null` for anything but text. */
export function charactersIn(value: unknown): number | null {
  if (typeof value !== 'string') return null
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** The counts of a scan that stops counting there: how many more there are is not known. */
const MAX_COUNTED = 1024
/** Bytes that a token of a document takes, about: what a ranker's limit is in. */
const BYTES_A_TOKEN = 4

/**
 * Search units of a ranking: a query with up to a hundred documents, of which a longer one counts as several.
 * @param documents the bytes that each takes as it is written in the request
 * @param tokensEach how long a document may be together with its query
 */
export function searchUnitsOf(
  documents: readonly unknown[],
  queryBytes: number,
  tokensEach: number,
): number | null {
  if (documents.length >= MAX_COUNTED) return null
  const room = Math.max(1, tokensEach - queryBytes / BYTES_A_TOKEN)
  let pieces = 0
  for (const bytes of documents) {
    if (typeof bytes !== 'number') return null
    pieces += Math.max(1, Math.ceil(bytes / BYTES_A_TOKEN / room))
  }
  return Math.max(1, Math.ceil(pieces / 100))
}

/**
 * Units of calls that are reported by the name of a tool. `unitOf`: what a name is billed by; `null`: nothing but tokens. A
 * tool of another name is unknown.
 */
export function unitsByTool(
  reported: JsonObject,
  unitOf: ReadonlyMap<string, BilledUnit | null>,
  countIn: (value: unknown) => number | null = unitsIn,
): Partial<BilledUnits> {
  const units: Partial<Record<BilledUnit, number | null>> = {}
  for (const [name, value] of Object.entries(reported)) {
    const unit = unitOf.get(name)
    const count = countIn(value)
    if (unit === null || count === null) continue
    if (unit !== undefined) units[unit] = sumUnits(units[unit] ?? null, count)
    else if (count > 0) units.otherToolCalls = sumUnits(units.otherToolCalls ?? null, count)
  }
  return units
}

/** All units, each as reported; where nothing was, `NO_UNITS` itself, which pricing recognises at once. */
export function unitsOf(reported: ReportedUnits): BilledUnits {
  return saysUnits(reported) ? { ...NO_UNITS, ...reported } : NO_UNITS
}

/** Units of two answers of one session, or of two parts of one answer. */
export function addUnits(one: BilledUnits, other: BilledUnits): BilledUnits {
  if (one === NO_UNITS) return other
  if (other === NO_UNITS) return one
  const sums: Partial<Record<BilledUnit, number | null>> = {}
  for (const name of BILLED_UNITS) sums[name] = sumUnits(one[name], other[name])
  return { ...NO_UNITS, ...sums }
}

/** `null` where neither was reported. */
export function sumUnits(...counts: readonly (number | null)[]): number | null {
  let sum: number | null = null
  for (const count of counts) if (count !== null) sum = (sum ?? 0) + count
  return sum
}

function saysUnits(reported: ReportedUnits): boolean {
  if (reported === null || reported === undefined) return false
  for (const count of Object.values(reported)) if (count !== null) return true
  return false
}
