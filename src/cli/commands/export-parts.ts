import { open, rename, rm } from 'node:fs/promises'
import { Failure } from '../../operations/failure.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { selectUsageDays } from '../../usage/days/usage-days.ts'
import { readEvents, selectDaysWithCalls } from '../../usage/events/read-events.ts'
import { CSV_HEADER, csvRow, type ExportedRow, jsonLine } from '../../usage/export/export-columns.ts'
import { FOCUS_HEADER, focusRows } from '../../usage/export/export-focus.ts'
import { type ExportPage, type ExportScope, readDays, readLines } from '../../usage/export/export-rows.ts'

export const EXPORT_FORMATS = ['csv', 'jsonl', 'focus', 'cloudevents'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** A chunk of an export: whole lines of one day, and their number of rows. */
export interface ExportPart {
  /** `null`: the header. */
  readonly day: UtcDay | null
  readonly text: string
  readonly rows: number
}

/**
 * An export in parts.
 *
 * @throws {Failure} Which days are whole, when it breaks in the middle.
 */
export async function* readExport(
  pool: Postgres,
  format: ExportFormat,
  scope: ExportScope,
): AsyncGenerator<ExportPart> {
  const header = HEADERS[format]
  if (format === 'cloudevents') await requireCalls(pool, scope)
  if (header !== '') yield { day: null, text: header, rows: 0 }
  let day: UtcDay | null = null
  try {
    for await (const part of readParts(pool, format, scope)) {
      day = part.day
      yield part
    }
  } catch (error) {
    if (day === null) throw error
    throw new BrokenExport(day, error)
  }
}

/** An export that broke in the middle, after days that are whole. */
export class BrokenExport extends Error {
  override readonly name = 'BrokenExport'
  /** The first that is not whole. */
  readonly day: UtcDay

  constructor(day: UtcDay, cause: unknown) {
    super(`the export broke in ${day}`, { cause })
    this.day = day
  }
}

const HEADERS = { csv: CSV_HEADER, jsonl: '', focus: FOCUS_HEADER, cloudevents: '' } as const

function readParts(pool: Postgres, format: ExportFormat, scope: ExportScope): AsyncGenerator<ExportPart> {
  switch (format) {
    case 'csv':
      return inParts(readLines(pool, scope), csvRow)
    case 'jsonl':
      return inParts(readLines(pool, scope), (row: ExportedRow) => `${jsonLine(row)}\n`)
    case 'focus':
      return inParts(readDays(pool, scope), focusRows)
    case 'cloudevents':
      return inParts(readEvents(pool, scope), (event) => `${event}\n`)
    default:
      return format satisfies never
  }
}

async function* inParts<Row>(
  pages: AsyncIterable<ExportPage<Row>>,
  line: (row: Row) => string,
): AsyncGenerator<ExportPart> {
  for await (const { day, rows } of pages) {
    let text = ''
    for (const row of rows) text += line(row)
    yield { day, text, rows: rows.length }
  }
}

/** Without this check, days whose single calls were deleted would be absent silently. */
async function requireCalls(pool: Postgres, { from, to }: ExportScope): Promise<void> {
  const kept = await selectCallDays(pool)
  const days = (await selectUsageDays(pool, from, to)).filter((day) => !kept.has(day))
  const gone = await selectDaysWithCalls(pool, days)
  if (gone.length === 0) return
  throw new Failure(
    `the single calls of ${gone.length} of these days are not kept, the last one ${gone.at(-1)}`,
  )
}

/**
 * Renamed to its final name only when complete. What broke in the middle is kept under the other name, cut to
 * the days that are whole.
 *
 * @returns Its number of rows.
 */
export async function writeExport(file: string, parts: AsyncIterable<ExportPart>): Promise<number> {
  const unfinished = partialOf(file)
  let rows = 0
  let bytes = 0
  /** Up to the last day that is whole. */
  let wholeBytes = 0
  let day: UtcDay | null = null
  try {
    const handle = await open(unfinished, 'w')
    try {
      for await (const part of parts) {
        if (part.day !== day) wholeBytes = day === null ? 0 : bytes
        day = part.day
        bytes += Buffer.byteLength(part.text)
        await handle.appendFile(part.text)
        rows += part.rows
      }
    } catch (error) {
      await handle.truncate(wholeBytes)
      throw error
    } finally {
      await handle.sync()
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (error) {
    if (wholeBytes === 0) await rm(unfinished, { force: true })
    throw error
  }
  return rows
}

export function partialOf(file: string): string {
  return `${file}.partial`
}
