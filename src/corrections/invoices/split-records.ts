import { BadRow } from './invoice-row.ts'

/** A record of a file as it is written, and the line that it begins in. */
export interface WrittenRecord {
  readonly line: number
  readonly text: string
}

/** No row and no page of an export is as long: a quote that is not closed, or a file without lines, would fill memory. */
const LONGEST_ROW = 1024 * 1024
const LONGEST_LINE = 64 * 1024 * 1024

/**
 * Records of a text that arrives in parts: lines, or with `isCsv` rows, in which a quoted cell may have line breaks. Of
 * each part those that it ends.
 *
 * @throws {BadRow} A record is longer than any export has.
 */
export async function* splitRecords(
  chunks: AsyncIterable<string>,
  isCsv: boolean,
): AsyncGenerator<readonly WrittenRecord[]> {
  const longest = isCsv ? LONGEST_ROW : LONGEST_LINE
  let rest = ''
  let line = 1
  let breaks = 0
  let isOpen = false
  for await (const chunk of chunks) {
    const records: WrittenRecord[] = []
    let begin = 0
    let from = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      if (isCsv && hasOddQuotes(chunk.slice(from, end))) isOpen = !isOpen
      from = end + 1
      breaks += 1
      if (isOpen) continue
      records.push({ line, text: withoutReturn(rest + chunk.slice(begin, end)) })
      rest = ''
      line += breaks
      breaks = 0
      begin = from
    }
    if (isCsv && hasOddQuotes(chunk.slice(from))) isOpen = !isOpen
    rest += chunk.slice(begin)
    if (rest.length > longest) throw new BadRow(`line ${line} has no end`)
    if (records.length > 0) yield records
  }
  if (isOpen) throw new BadRow(`line ${line} has a quote that is not closed: the file may be cut`)
  if (rest !== '') yield [{ line, text: withoutReturn(rest) }]
}

function hasOddQuotes(text: string): boolean {
  let isOdd = false
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) isOdd = !isOdd
  return isOdd
}

function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text
}

/** The cells of a row of CSV (RFC 4180). */
export function cellsOf(row: string): readonly string[] {
  if (!row.includes('"')) return row.split(',')
  const cells: string[] = []
  for (let at = 0; at <= row.length; at += 1) {
    if (row[at] !== '"') {
      const end = cellEnd(row, at)
      cells.push(row.slice(at, end))
      at = end
      continue
    }
    let end = row.indexOf('"', at + 1)
    while (end >= 0 && row[end + 1] === '"') end = row.indexOf('"', end + 2)
    const close = end < 0 ? row.length : end
    cells.push(row.slice(at + 1, close).replaceAll('""', '"'))
    at = cellEnd(row, close)
  }
  return cells
}

function cellEnd(row: string, from: number): number {
  const found = row.indexOf(',', from)
  return found < 0 ? row.length : found
}
