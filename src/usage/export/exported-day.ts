import type { BilledUnit, TokenClass } from '../../call/usage.ts'
import type { UtcDay } from '../../domain/utc-day.ts'

/** A row of daily totals as it is given to others, with the names that people know things by. */
export interface ExportedDay {
  readonly day: UtcDay
  readonly clientId: string
  /** `null`: no longer known. */
  readonly clientName: string | null
  /** '': a correction by hand, which is for no key. */
  readonly keyId: string
  readonly keyName: string | null
  readonly model: string
  readonly upstream: string
  readonly provider: string
  /** `null`: unpriced, or nothing to price. */
  readonly priceId: string | null
  readonly requests: bigint
  /** What calls told of the work of others: no requests. */
  readonly settlements: bigint
  readonly reported: bigint
  readonly partial: bigint
  readonly estimated: bigint
  readonly withoutUsage: bigint
  readonly invalid: bigint
  /** Calls without a price that were given none since. */
  readonly unpriced: bigint
  readonly errors: bigint
  readonly sums: Readonly<Record<TokenClass | BilledUnit, bigint>>
  readonly estimatedInputTokens: bigint
  readonly estimatedOutputTokens: bigint
  readonly latencyUsSum: bigint
  readonly latencyCount: bigint
  /** As metered, and what corrections added; 1e-12 USD. */
  readonly costPico: bigint
  readonly adjustedPico: bigint
}
