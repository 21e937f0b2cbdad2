import { hostname } from 'node:os'
import { repeat } from '../../lib/repeat.ts'
import type { Postgres } from '../connection/postgres.ts'
import { selectConnectionUse, shareOf } from './connection-use.ts'
import { ANNOUNCE_MS, announceProcess, type ProcessKind, withdrawProcess } from './processes-table.ts'
import type { StoreClock } from './store-clock.ts'

export interface AnnounceOptions {
  readonly pool: Postgres
  readonly kind: ProcessKind
  /** What it may take; with `allow` it gets its part of Postgres's connections each time. */
  readonly connections: { readonly max: number; readonly allow?: (connections: number) => void }
  readonly clock: StoreClock
}

const CHECK_MS = 1_000
/** Without Postgres nothing changes. */
const ignore = () => {}

/**
 * Says in Postgres that this process runs, for `doctor` and for alerts: how many connections it may take, and how far
 * its clock is off. It says so at once where that begins or ends. Without Postgres it waits.
 */
export function keepAnnounced({ pool, kind, connections, clock }: AnnounceOptions): {
  stop(): Promise<void>
} {
  const name = { process: `${hostname()}:${process.pid}`, kind }
  let said: { readonly atMs: number; readonly clock: string } | null = null
  const repeated = repeat(async () => {
    const state = clock.offsetMs === null ? 'unknown' : clock.isOff ? 'off' : 'right'
    const isDue = said?.clock !== state || performance.now() - said.atMs >= ANNOUNCE_MS
    if (!isDue) return
    const running = { ...name, maxConnections: connections.max, clockOffsetMs: clock.provenOffsetMs }
    const isSaid = await announceProcess(pool, running).then(
      () => true,
      () => false,
    )
    if (!isSaid) return
    said = { atMs: performance.now(), clock: state }
    if (connections.allow === undefined) return
    await selectConnectionUse(pool).then((use) => connections.allow?.(shareOf(use)), ignore)
  }, CHECK_MS)
  return {
    async stop() {
      await repeated.stop()
      await withdrawProcess(pool, name).catch(() => {})
    },
  }
}
