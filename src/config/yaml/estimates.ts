import { z } from 'zod'
import { decimalOfText, scaleToInteger } from '../../domain/decimal.ts'

/** What calls reserve whose requests do not say how much they may use. */
export interface EstimateConfig {
  /** Tokens that an answer may have where nothing bounds it. */
  readonly defaultOutputTokens: number
  /** Integer pico-USD for a job whose requests are not in the body that begins it. */
  readonly jobReservePico: bigint
}

const PICO_PER_DOLLAR = 1_000_000_000_000n

/** Longer than nearly all answers, and a few cents at the price of the dearest models. */
const DEFAULT_OUTPUT_TOKENS = 4_096
const DEFAULT_JOB_RESERVE_USD = '1'

const usd = z.string().regex(/^\d{1,9}(?:\.\d{1,12})?$/, "must be US dollars as text, such as '1' or '0.25'")

/** The `limits` of the YAML file. */
export const fileEstimates: z.ZodType<EstimateConfig | null> = z
  .strictObject({
    default_output_tokens: z
      .int()
      .min(1, 'must be 1 or more tokens')
      .max(10_000_000, 'must be at most 10000000 tokens')
      .default(DEFAULT_OUTPUT_TOKENS),
    job_reserve_usd: usd.default(DEFAULT_JOB_RESERVE_USD),
  })
  .optional()
  .transform((limits) =>
    limits === undefined ? null : estimatesOf(limits.default_output_tokens, limits.job_reserve_usd),
  )

/** Where the file has no `limits`. */
export const DEFAULT_ESTIMATES: EstimateConfig = estimatesOf(DEFAULT_OUTPUT_TOKENS, DEFAULT_JOB_RESERVE_USD)

function estimatesOf(defaultOutputTokens: number, jobReserveUsd: string): EstimateConfig {
  return {
    defaultOutputTokens,
    jobReservePico: scaleToInteger(decimalOfText(jobReserveUsd), PICO_PER_DOLLAR, 1n),
  }
}
