import { AWS_CUR, AZURE_COSTS, GOOGLE_BILLING } from './clouds.ts'
import { FOCUS } from './focus.ts'
import { columnName, type InvoiceFormat } from './format.ts'
import { ANTHROPIC_COSTS, OPENAI_COSTS } from './maker-costs.ts'

/** THE list of formats. A file is of the first one whose columns it has. */
export const FORMATS: readonly InvoiceFormat[] = [
  OPENAI_COSTS,
  ANTHROPIC_COSTS,
  AWS_CUR,
  FOCUS,
  GOOGLE_BILLING,
  AZURE_COSTS,
]

export const FORMAT_NAMES = FORMATS.map(({ name }) => name)

export function findFormat(name: string): InvoiceFormat | null {
  return FORMATS.find((format) => format.name === name) ?? null
}

/** The format of a file with these columns or members; `null`: none of them. */
export function recognise(names: Iterable<string>): InvoiceFormat | null {
  const there = new Set([...names].map(columnName))
  return FORMATS.find(({ columns }) => columns.every((name) => there.has(columnName(name)))) ?? null
}
