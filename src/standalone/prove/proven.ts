import type { BookedCall } from './compare-books.ts'
import type { Target } from './load.ts'
import type { PlannedCall } from './planned-calls.ts'

/** A gateway that calls are made to, its parts that are killed, and its books. */
export interface Proven {
  readonly name: string
  readonly targets: readonly Target[]
  /** A key for each client that a planned call names. */
  readonly keys: readonly string[]
  readonly plan: (number: number) => PlannedCall
  readonly parts: readonly MortalPart[]
  readonly standInFile: string
  readonly tolerance: number
  /** @param calls How many were made: a number is that of none of them else. */
  readBooks(calls: number): Promise<readonly BookedCall[]>
  /** Contradictions between its own figures, in words; empty: none. */
  contradictions(): Promise<readonly string[]>
  /** Keeps its logs, and says where; `null`: it has none. */
  keepLogs(): string | null
  stop(): Promise<void>
}

/** A part that is killed, and started again. */
export interface MortalPart {
  readonly name: string
  kill(): Promise<void>
  start(): Promise<void>
}
