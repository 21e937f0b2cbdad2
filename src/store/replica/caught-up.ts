import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../connection/postgres.ts'
import { type ReplicaLag, ReplicaLagMeter } from './replica-lag.ts'

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
