import { BILLED_UNITS, type BilledUnit, TOKEN_CLASSES, type TokenClass } from '../domain/usage.ts'

const COLUMN_OF: Readonly<Record<TokenClass | BilledUnit, string>> = {
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

/** The columns of the token classes, in the order of `TOKEN_CLASSES`; the same in `daily_usage` and `calls`. */
export const TOKEN_COLUMNS: readonly string[] = TOKEN_CLASSES.map((name) => COLUMN_OF[name])

/** The columns of the billed units, in the order of `BILLED_UNITS`; the same in `daily_usage` and `calls`. */
export const UNIT_COLUMNS: readonly string[] = BILLED_UNITS.map((name) => COLUMN_OF[name])
