import type { Limit } from '../limit.ts'
import type { LifeSigns } from '../sharing/gateway-lives.ts'
import type { LimitStore, ReadSpent } from '../sharing/limit-store.ts'
import type { OtherSubjects } from '../subject.ts'

/** What the limits of a gateway process are made of. */
export interface LimitEngineOptions {
  /** Unlike that of any other process, also on the same host, and of those that ran before. */
  readonly gatewayId: string
  /** The limits that may hold for a client: the same list until one of them changes. */
  readonly limitsOf: (clientId: string) => readonly Limit[]
  readonly others: OtherSubjects
  readonly store: LimitStore
  readonly readSpent: ReadSpent
  readonly lifeSigns: LifeSigns
  /** Whether another gateway may have run shortly before. Rejects when that cannot be known. */
  readonly hadPeers: () => Promise<boolean>
  /** Who numbers a client's records in this process, and all who number any. */
  readonly producerOf: (clientId: string) => string
  readonly producers: readonly string[]
  /** So many values have a state of their own at a time; absent: as many as memory is likely to allow. */
  readonly mostValues?: number
  /** Monotonic milliseconds, and milliseconds since 1970. */
  readonly now: () => number
  readonly wallNow: () => number
  /** Runs something soon, after what is under way. */
  readonly defer: (task: () => void) => void
}
