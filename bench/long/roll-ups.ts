import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { UtcDay } from '../../src/domain/utc-day.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import type { Candidate } from '../../src/rollup/rolled-up.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'
import { recordOf } from '../rollup/records.ts'
import { quantile } from '../stand/figures.ts'

/** Roll-ups that were counted beside something else. */
export interface BesideFigures {
  readonly batches: number
  readonly calls: number
  /** Batches that were turned away because a correction had the day; they are tried again. */
  readonly busy: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
}

const CALLS_A_BATCH = 200
const CLIENTS = 100
const PAUSE_MS = 100
const RETENTION_DAYS = 35

/** As the other calls of the day: a price without a definition would be a difference that verify names. */
const UNPRICED = { costPico: null, priceId: null, unpricedReason: 'no_price' }

/** Counts batches of calls of the day, one after the other with a pause, until `isOver`. */
export async function rollUpBeside(
  databaseUrl: string,
  day: UtcDay,
  isOver: () => boolean,
): Promise<BesideFigures> {
  const quiet = { info() {}, warn() {}, error: console.error }
  const limits = { max: 2, statementTimeoutMs: 60_000, applicationName: 'bench roll-up', log: quiet }
  const pool = openPostgres(databaseUrl, limits)
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, RETENTION_DAYS, quiet) })
  const producer = randomBytes(16).toString('hex')
  const stream = 'bench:beside'
  const noon = Date.parse(`${day}T12:00:00Z`)
  const ms: number[] = []
  let [sequence, busy] = [0, 0]
  while (!isOver()) {
    const batch = Array.from({ length: CALLS_A_BATCH }, (_, index): Candidate => {
      const call = sequence + index
      const record = { ...recordOf(call, CLIENTS), ...UNPRICED, arrivedAtMs: noon }
      const place = { producer, sequence: call + 1, from: call + 1, to: call + 1 }
      return { id: `1-${call + 1}`, ...place, body: '', record, gapReason: null }
    })
    const startedMs = performance.now()
    while ((await rollUp(stream, batch)).kind === 'busy') busy += 1
    ms.push(performance.now() - startedMs)
    sequence += batch.length
    await sleep(PAUSE_MS)
  }
  await pool.end()
  ms.sort((a, b) => a - b)
  const at = (share: number) => quantile(ms, share)
  return { batches: ms.length, calls: sequence, busy, p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1) }
}
