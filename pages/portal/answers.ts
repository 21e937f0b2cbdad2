import type { z } from 'zod'
import type { ownAccount, ownKeys } from '../../src/keys/operations/own-keys.ts'
import type { listMembers } from '../../src/limits/members/operations.ts'
import type { ownRefused } from '../../src/limits/operations/own-limits.ts'
import type { ownModels } from '../../src/pricing/operations/own-prices.ts'
import type { ownCalls } from '../../src/usage/operations/own-calls.ts'
import type { ownReport } from '../../src/usage/operations/report.ts'

type AnswerOf<Operation extends { readonly answer: z.ZodType }> = z.output<Operation['answer']>

export type OwnReport = AnswerOf<typeof ownReport>
export type OwnReportRow = OwnReport['rows'][number]
export type OwnRefused = AnswerOf<typeof ownRefused>[number]
export type OwnModel = AnswerOf<typeof ownModels>[number]
export type OwnCall = AnswerOf<typeof ownCalls>[number]
export type OwnKey = AnswerOf<typeof ownKeys>[number]
export type OwnAccount = AnswerOf<typeof ownAccount>
export type Member = AnswerOf<typeof listMembers>[number]

interface LimitScope {
  readonly key_id: string | null
  readonly model: string | null
  readonly group?: string
  readonly axis?: string
  readonly value?: string | null
}

/** A budget in US dollars, or a rate in numbers. */
export type OwnLimit = LimitScope &
  (
    | {
        readonly kind: 'budget'
        readonly per: 'day' | 'week' | 'month' | 'total'
        readonly soft: boolean
        readonly limit_usd: number
        readonly left_usd: number
        readonly until: string | null
      }
    | {
        readonly kind: 'requests' | 'tokens' | 'concurrent'
        readonly limit: number
        readonly remaining: number
        readonly reset_seconds: number
      }
  )
