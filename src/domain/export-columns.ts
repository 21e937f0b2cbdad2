import type { ExportedDay } from './exported-day.ts'
import { BILLED_UNITS, type BilledUnit, TOKEN_CLASSES, type TokenClass } from './usage.ts'
import { picoToUsdText } from './usage-summary.ts'

/** A cell of an export. Amounts of money are exact decimal text, whole numbers are numbers. */
export type ExportedCell =
  | { readonly kind: 'text'; readonly text: string | null }
  | { readonly kind: 'count'; readonly count: bigint }
  | { readonly kind: 'usd'; readonly pico: bigint }

export interface ExportColumn {
  readonly name: string
  readonly cell: (row: ExportedDay) => ExportedCell
}

const SUM_NAMES: Readonly<Record<TokenClass | BilledUnit, string>> = {
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  cacheWrite5mTokens: 'cache_write_5m_tokens',
  cacheWrite1hTokens: 'cache_write_1h_tokens',
  reasoningTokens: 'reasoning_tokens',
  audioInputTokens: 'audio_input_tokens',
  audioOutputTokens: 'audio_output_tokens',
  imageInputTokens: 'image_input_tokens',
  imageOutputTokens: 'image_output_tokens',
  cacheReadAudioTokens: 'cache_read_audio_tokens',
  webSearches: 'web_searches',
  searchUnits: 'search_units',
  images: 'images',
  audioMs: 'audio_ms',
  characters: 'characters',
  pages: 'pages',
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
  ...[...TOKEN_CLASSES, ...BILLED_UNITS].map((name) => count(SUM_NAMES[name], ({ sums }) => sums[name])),
  count('estimated_input_tokens', ({ estimatedInputTokens }) => estimatedInputTokens),
  count('estimated_output_tokens', ({ estimatedOutputTokens }) => estimatedOutputTokens),
  count('latency_us_sum', ({ latencyUsSum }) => latencyUsSum),
  count('latency_count', ({ latencyCount }) => latencyCount),
  usd('metered_usd', ({ costPico }) => costPico),
  usd('adjusted_usd', ({ adjustedPico }) => adjustedPico),
  usd('cost_usd', ({ costPico, adjustedPico }) => costPico + adjustedPico),
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
