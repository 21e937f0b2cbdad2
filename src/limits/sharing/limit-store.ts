import type { UtcDay } from '../../domain/utc-day.ts'
import type { SubjectScope } from '../subject.ts'

/** What Redis answered. */
export interface ExchangeReply {
  /** Whether the writes were taken: no gateway had written since `token`. */
  readonly isTaken: boolean
  /** All fields as they are now; empty where the writes were taken, since they are known then. */
  readonly fields: ReadonlyMap<string, string>
  /** Milliseconds since 1970, by the server's clock. */
  readonly redisMs: number
}

export interface ExchangeRequest {
  /** Of the subject. */
  readonly name: string
  /** So long it is kept without another write: milliseconds. */
  readonly keepMs: number
  /** The fields were last known with this token; empty: there were none. */
  readonly token: string
  readonly newToken: string
  /** The gateway that writes: when, is written beside. */
  readonly gatewayId: string
  /** Names and values in turn; an empty value deletes. */
  readonly writes: readonly string[]
}

/** Since when Redis keeps what gateways write, by its clock, and how long that is. */
export interface KeptSince {
  readonly beganMs: number
  readonly ageMs: number
}

/** Where gateways report to each other what they use: one hash a subject, in Redis. */
export interface LimitStore {
  /** Since when it keeps what is written. Asked for the first time after a loss, it begins then. Rejects as below. */
  keptSince(): Promise<KeptSince>
  /** Writes if no gateway has written meanwhile. Rejects when Redis is away, or slower than it may be. */
  exchange(request: ExchangeRequest): Promise<ExchangeReply>
}

/** Whose cost, of which calls, and of which UTC days, both included. */
export interface BudgetToRead extends SubjectScope {
  readonly keyId: string | null
  /** Further keys, where it is of one. */
  readonly formerKeys?: readonly string[]
  readonly model: string | null
  readonly fromDay: UtcDay
  readonly toDay: UtcDay | null
}

/** One reading: integer pico-USD in the order of the budgets, and the last record of each producer that is in them. */
export interface BudgetsRead {
  readonly spentPico: readonly bigint[]
  /** What waiting jobs reserve beside that, in the same order. */
  readonly jobsPico: readonly bigint[]
  readonly committedOffsets: ReadonlyMap<string, number>
}

/** Reads budgets as of one moment. Rejects when Postgres is away. */
export type ReadSpent = (
  budgets: readonly BudgetToRead[],
  producers: readonly string[],
) => Promise<BudgetsRead>
