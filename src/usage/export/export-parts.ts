import type { UtcDay } from '../../domain/utc-day.ts'
import { BrokenText, type TextPiece } from '../../operations/long-text.ts'
import { conflict } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../calls/call-partitions.ts'
import { selectUsageDays } from '../days/usage-days.ts'
import { readEvents, selectDaysWithCalls } from '../events/read-events.ts'
import { CSV_HEADER, csvRow, type ExportedRow, jsonLine } from './export-columns.ts'
import { FOCUS_HEADER, focusRows } from './export-focus.ts'
import { type ExportPage, type ExportScope, readDays, readLines } from './export-rows.ts'

export type ExportFormat = keyof typeof HEADERS

/**
 * An export in parts.
 *
 * @throws {BrokenText} Which day is not whole, when it breaks in the middle.
 */
export async function* readExport(
  pool: Postgres,
  format: ExportFormat,
  scope: ExportScope,
): AsyncGenerator<TextPiece> {
  const header = HEADERS[format]
  if (format === 'cloudevents') await requireCalls(pool, scope)
  if (header !== '') yield { where: null, text: header, rows: 0 }
  let day: UtcDay | null = null
  try {
    for await (const part of readParts(pool, format, scope)) {
      day = part.where
      yield part
    }
  } catch (error) {
    if (day === null) throw error
    throw new BrokenText(day, error)
  }
}

const HEADERS = { csv: CSV_HEADER, jsonl: '', focus: FOCUS_HEADER, cloudevents: '' } as const

function readParts(pool: Postgres, format: ExportFormat, scope: ExportScope): AsyncGenerator<TextPiece> {
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
): AsyncGenerator<TextPiece> {
  for await (const { day, rows } of pages) {
    let text = ''
    for (const row of rows) text += line(row)
    yield { where: day, text, rows: rows.length }
  }
}

/** Without this check, days whose single calls were deleted would be absent silently. */
async function requireCalls(pool: Postgres, { from, to }: ExportScope): Promise<void> {
  const kept = await selectCallDays(pool)
  const days = (await selectUsageDays(pool, from, to)).filter((day) => !kept.has(day))
  const gone = await selectDaysWithCalls(pool, days)
  if (gone.length === 0) return
  throw conflict(
    `The single calls of ${gone.length} of these days are not kept, the last one ${gone.at(-1)}.`,
    'from',
  )
}
