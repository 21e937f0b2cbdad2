import type { UtcDay } from '../../domain/utc-day.ts'
import { BrokenText, type TextPiece } from '../../operations/long-text.ts'
import { conflict } from '../../operations/refuse.ts'
import { readContracts } from '../../pricing/contracts/contracts-table.ts'
import { markupIn } from '../../pricing/contracts/three-costs.ts'
import type { Price } from '../../pricing/price.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../calls/call-partitions.ts'
import { selectUsageDays } from '../days/usage-days.ts'
import { readEvents, selectDaysWithCalls } from '../events/read-events.ts'
import { selectPricesAndParts } from '../price-definitions.ts'
import { readFocusCharges } from './export-charges.ts'
import {
  AXIS_COLUMNS,
  csvHeader,
  csvRow,
  EXPORT_COLUMNS,
  type ExportedRow,
  jsonLine,
} from './export-columns.ts'
import { type FocusVersion, focusHeader, focusRows, focusText } from './export-focus.ts'
import { type ExportPage, type ExportScope, readDays, readLines } from './export-rows.ts'

export type ExportFormat = 'csv' | 'jsonl' | 'focus' | 'cloudevents'

/**
 * An export in parts.
 *
 * @throws {BrokenText} Which day is not whole, when it breaks in the middle.
 */
export async function* readExport(
  pool: Postgres,
  format: ExportFormat,
  scope: ExportScope,
  focus: FocusVersion = '1.2',
): AsyncGenerator<TextPiece> {
  const columns = scope.axis === undefined ? EXPORT_COLUMNS : AXIS_COLUMNS
  const header = { csv: csvHeader(columns), jsonl: '', focus: focusHeader(focus), cloudevents: '' }[format]
  if (format === 'cloudevents') await requireCalls(pool, scope)
  if (header !== '') yield { where: null, text: header, rows: 0 }
  let day: UtcDay | null = null
  try {
    for await (const part of readParts(pool, format, scope, focus)) {
      day = part.where
      yield part
    }
  } catch (error) {
    if (day === null) throw error
    throw new BrokenText(day, error)
  }
}

function readParts(
  pool: Postgres,
  format: ExportFormat,
  scope: ExportScope,
  focus: FocusVersion,
): AsyncGenerator<TextPiece> {
  const columns = scope.axis === undefined ? EXPORT_COLUMNS : AXIS_COLUMNS
  switch (format) {
    case 'csv':
      return inParts(readLines(pool, scope), (row: ExportedRow) => csvRow(row, columns))
    case 'jsonl':
      return inParts(readLines(pool, scope), (row: ExportedRow) => `${jsonLine(row, columns)}\n`)
    case 'focus':
      return inFocus(pool, scope, focus)
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

async function* inFocus(
  pool: Postgres,
  scope: ExportScope,
  version: FocusVersion,
): AsyncGenerator<TextPiece> {
  const contracts = await readContracts(pool)
  const prices = new Map<string, Price>()
  const asked = new Set([''])
  for await (const { day, rows } of readDays(pool, scope)) {
    const unknown = new Set(rows.map(({ priceId }) => priceId).filter((id) => !asked.has(id)))
    if (unknown.size > 0)
      for (const [id, price] of await selectPricesAndParts(pool, unknown)) prices.set(id, price)
    for (const id of unknown) asked.add(id)
    const text = rows.map((row) => {
      const price = prices.get(row.priceId) ?? null
      const terms = contracts.termsOf({ ...row, price: price?.definition ?? null })
      return focusRows(row, { price, markup: markupIn(price, prices), terms, all: prices }, version)
    })
    yield { where: day, text: text.join(''), rows: rows.length }
  }
  // A charge is of a client's month, and says nothing of the days that it was in a group.
  const charges = scope.groupId === undefined ? await readFocusCharges(pool, scope) : []
  if (charges.length > 0) yield { where: scope.to, text: focusText(charges, version), rows: charges.length }
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
