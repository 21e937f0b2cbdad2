import {
  BILLED_UNITS,
  type BilledUnit,
  TOKEN_CLASSES,
  TOKEN_COLUMNS,
  type TokenClass,
  UNIT_COLUMNS,
} from '../../call/usage.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { ExportedDay } from './exported-day.ts'

/** A cell of an export. Amounts of money are exact decimal text, whole numbers are numbers. */
export type ExportedCell =
  | { readonly kind: 'text'; readonly text: string | null }
  | { readonly kind: 'count'; readonly count: bigint }
  | { readonly kind: 'usd'; readonly pico: bigint }

export interface ExportColumn {
  readonly name: string
  readonly cell: (row: ExportedDay) => ExportedCell
}

/** How many of each list were there before an order was promised; later ones stand at the end. */
const FIRST_TOKENS = 12
const FIRST_UNITS = 6

function sumColumns<Name extends TokenClass | BilledUnit>(
  names: readonly Name[],
  columns: readonly string[],
  from: number,
  to: number,
): ExportColumn[] {
  return names
    .slice(from, to)
    .map((name, index) => count(columns[from + index] ?? name, ({ sums }) => sums[name]))
}

function text(name: string, pick: (row: ExportedDay) => string | null): ExportColumn {
  return { name, cell: (row) => ({ kind: 'text', text: pick(row) }) }
}

function count(name: string, pick: (row: ExportedDay) => bigint): ExportColumn {
  return { name, cell: (row) => ({ kind: 'count', count: pick(row) }) }
}

function usd(name: string, pick: (row: ExportedDay) => bigint): ExportColumn {
  return { name, cell: (row) => ({ kind: 'usd', pico: pick(row) }) }
}

/** The columns of the `csv` and `jsonl` exports. New ones are only ever added at the end. */
export const EXPORT_COLUMNS: readonly ExportColumn[] = [
  text('day', ({ day }) => day),
  text('client_id', ({ clientId }) => clientId),
  text('client', ({ clientName }) => clientName),
  text('key_id', ({ keyId }) => (keyId === '' ? null : keyId)),
  text('key', ({ keyName }) => keyName),
  text('model', ({ model }) => model),
  text('upstream', ({ upstream }) => (upstream === '' ? null : upstream)),
  text('provider', ({ provider }) => (provider === '' ? null : provider)),
  text('price_id', ({ priceId }) => priceId),
  count('requests', ({ requests }) => requests),
  count('reported', ({ reported }) => reported),
  count('partial', ({ partial }) => partial),
  count('estimated', ({ estimated }) => estimated),
  count('without_usage', ({ withoutUsage }) => withoutUsage),
  count('invalid', ({ invalid }) => invalid),
  count('unpriced', ({ unpriced }) => unpriced),
  count('errors', ({ errors }) => errors),
  ...sumColumns(TOKEN_CLASSES, TOKEN_COLUMNS, 0, FIRST_TOKENS),
  ...sumColumns(BILLED_UNITS, UNIT_COLUMNS, 0, FIRST_UNITS),
  count('estimated_input_tokens', ({ estimatedInputTokens }) => estimatedInputTokens),
  count('estimated_output_tokens', ({ estimatedOutputTokens }) => estimatedOutputTokens),
  count('latency_us_sum', ({ latencyUsSum }) => latencyUsSum),
  count('latency_count', ({ latencyCount }) => latencyCount),
  usd('metered_usd', ({ costPico }) => costPico),
  usd('adjusted_usd', ({ adjustedPico }) => adjustedPico),
  usd('cost_usd', ({ costPico, adjustedPico }) => costPico + adjustedPico),
  ...sumColumns(TOKEN_CLASSES, TOKEN_COLUMNS, FIRST_TOKENS, TOKEN_CLASSES.length),
  ...sumColumns(BILLED_UNITS, UNIT_COLUMNS, FIRST_UNITS, BILLED_UNITS.length),
  count('settlements', ({ settlements }) => settlements),
]

/** One line of a `jsonl` export, without its end. */
export function jsonLine(row: ExportedDay): string {
  return JSON.stringify(
    Object.fromEntries(EXPORT_COLUMNS.map(({ name, cell }) => [name, jsonValue(cell(row))])),
  )
}

function jsonValue(cell: ExportedCell): string | number | null {
  switch (cell.kind) {
    case 'text':
      return cell.text
    case 'count':
      return Number(cell.count)
    case 'usd':
      return picoToUsdText(cell.pico)
    default:
      return cell satisfies never
  }
}
