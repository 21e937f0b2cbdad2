import { recognise } from '../../../src/corrections/invoices/formats/formats.ts'
import type { CurrencyRates, InvoiceRow } from '../../../src/corrections/invoices/invoice-row.ts'
import { readRecords } from '../../../src/corrections/invoices/read-records.ts'

/** All rows of a text, and the format that it was recognised as. */
export async function readInvoice(
  source: AsyncIterable<Buffer> | string,
  rates: CurrencyRates = new Map(),
): Promise<{
  readonly format: string
  readonly rows: readonly InvoiceRow[]
  readonly lines: readonly number[]
}> {
  const rows: InvoiceRow[] = []
  const lines: number[] = []
  let name = ''
  for await (const records of readRecords(source)) {
    const format = recognise(records[0]?.names ?? [])
    if (format === null) throw new Error('not recognised')
    name = format.name
    for (const { cells, line } of records) {
      const found = format.rowOf(cells, { rates, biller: null })
      if (found !== null) rows.push(...[found].flat())
      lines.push(line)
    }
  }
  return { format: name, rows, lines }
}

export function csv(...rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}
