import type { Biller, CurrencyRates, InvoiceRow } from '../invoice-row.ts'

/** A record of a file: its members by name, nested ones by their path. `''`: it has none. */
export interface Cells {
  /** The first of these that is not empty. Names are compared by letters and digits alone. */
  get(...names: readonly string[]): string
}

/** A record of known columns or members. */
export interface ReadBy {
  readonly rates: CurrencyRates
  /** Whose invoice it is, where the format does not say; `null`: not said. */
  readonly biller: Biller | null
}

/** What invoices of one kind look like. */
export interface InvoiceFormat {
  readonly name: string
  /** What it is called by who sends it. */
  readonly title: string
  /** Columns that it always has, and that no other format has all of. */
  readonly columns: readonly string[]
  /** `null`: it is not about models. @throws {BadRow} */
  readonly rowOf: (cells: Cells, by: ReadBy) => InvoiceRow | readonly InvoiceRow[] | null
}

/** A row of a plain use, for formats to change. */
export const NOT_SAID = {
  class: null,
  tier: null,
  place: null,
  account: null,
  responseId: null,
  quantityMicro: null,
  unit: null,
} as const

export function orNull(text: string): string | null {
  const plain = text.trim()
  return plain === '' || plain === 'null' ? null : plain
}

const MOST_KNOWN = 10_000
const LONGEST_KNOWN = 100
const known = new Map<string, string>()

/** Names as `Cells` compares them. Each record has the same ones. */
export function columnName(name: string): string {
  const found = known.get(name)
  if (found !== undefined) return found
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (known.size < MOST_KNOWN && name.length <= LONGEST_KNOWN) known.set(name, plain)
  return plain
}
