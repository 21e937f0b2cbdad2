import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../connection/postgres.ts'
import { readDatabaseId } from '../ledger/ledger-database.ts'

/** How near a replica is to the primary. */
export type ReplicaLag =
  | {
      readonly kind: 'near'
      /** It has at least all that was committed by then; monotonic milliseconds. */
      readonly asOfMs: number
    }
  /** Its answers would be of another database, or of no known moment. */
  | { readonly kind: 'unusable'; readonly problem: string; readonly isForGood?: boolean }

interface Position {
  /** Monotonic milliseconds, read before the primary was asked. */
  readonly atMs: number
  /** The position of the primary's log then, in bytes. */
  readonly bytes: number
}

/** Positions of the primary that are remembered, one a measurement: a replica further behind is of no use. */
const REMEMBERED = 64

/**
 * Measures how old what a replica answers may be, by the primary's own positions in its log: a replica that
 * has replayed to a position has all that was committed before that was read. No clock of a server is compared
 * with another's, and a replica that has lost its primary is seen to fall behind.
 */
export class ReplicaLagMeter {
  readonly #primary: Postgres
  readonly #replica: Postgres
  #positions: readonly Position[] = []
  /** Identity of the primary; read once. */
  #databaseId: string | null = null

  constructor(primary: Postgres, replica: Postgres) {
    this.#primary = primary
    this.#replica = replica
  }

  /** @throws When either of them is away. */
  async measure(): Promise<ReplicaLag> {
    await this.#readPosition()
    const { rows } = await this.#replica.query<{ standby: boolean; replayed: string | null }>(
      `select pg_is_in_recovery() as standby,
         case when pg_is_in_recovery() then pg_last_wal_replay_lsn() - '0/0'::pg_lsn end as replayed`,
    )
    const { standby, replayed } = rows[0] ?? { standby: false, replayed: null }
    if (!standby)
      return {
        kind: 'unusable',
        problem: 'is not a standby: how old its data is cannot be known',
        isForGood: true,
      }
    this.#databaseId ??= await readDatabaseId(this.#primary)
    if ((await readDatabaseId(this.#replica)) !== this.#databaseId)
      return { kind: 'unusable', problem: 'is of another database', isForGood: true }
    const reached = this.#positions.findLastIndex(({ bytes }) => bytes <= Number(replayed ?? -1))
    const position = this.#positions[reached]
    if (position === undefined) return { kind: 'unusable', problem: 'is too far behind' }
    this.#positions = this.#positions.slice(reached)
    return { kind: 'near', asOfMs: position.atMs }
  }

  async #readPosition(): Promise<void> {
    const atMs = performance.now()
    const { rows } = await this.#primary.query<{ bytes: string }>(
      `select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes`,
    )
    const bytes = Number(rows[0]?.bytes)
    // After a failover the log may begin again at a lower position: those of before say nothing of it.
    const isBack = bytes < (this.#positions.at(-1)?.bytes ?? 0)
    this.#positions = isBack ? [{ atMs, bytes }] : [...this.#positions.slice(1 - REMEMBERED), { atMs, bytes }]
  }
}

/** A replica that is this far behind would be waited for in vain. */
const WAIT_MS = 5_000
const MEASURE_AGAIN_MS = 100

/**
 * Waits until a replica has all that the primary had committed when this was called, five seconds at most: a
 * command that then reads it misses nothing.
 */
export async function waitForReplica(primary: Postgres, replica: Postgres): Promise<ReplicaLag> {
  const askedAtMs = performance.now()
  const meter = new ReplicaLagMeter(primary, replica)
  for (;;) {
    const lag = await meter.measure()
    if (lag.kind === 'near' && lag.asOfMs >= askedAtMs) return lag
    if (performance.now() - askedAtMs > WAIT_MS) return { kind: 'unusable', problem: 'is too far behind' }
    if (lag.kind === 'unusable' && lag.isForGood) return lag
    await delay(MEASURE_AGAIN_MS)
  }
}
