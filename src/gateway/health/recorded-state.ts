import { hostname } from 'node:os'
import type { Ledger } from '../../ledger/ledger.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/log.ts'
import { repeat } from '../../lib/repeat.ts'
import {
  RECORD_PRICES_MS,
  type RecordedPrices,
  recordGatewayPrices,
  recordGatewayStopped,
} from '../../pricing/refresh/gateway-prices.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { deleteGatewayJournal, LATE_MS, recordGatewayJournal } from '../../store/ledger/gateway-journals.ts'

/** How often a gateway checks whether there is something to say, and how often it says it while nothing is late. */
const CHECK_MS = 1_000
const SAY_MS = 15_000
/** At the end, nothing waits longer for Postgres. */
const LAST_MS = 300

let named = 0

/** A name for a gateway, unique among those that run: its host and process, and a number where it is not the first there. */
export function nameGateway(): string {
  named += 1
  return `${hostname()}:${process.pid}${named === 1 ? '' : `/${named}`}`
}

/**
 * Records that a gateway runs, how full the journal of this process is, and at once when its records begin to wait for long: workers send
 * alerts, and other gateways tell clients that answers may lack calls. Without Postgres it waits.
 */
export function recordJournal(
  pool: Postgres,
  gateway: string,
  ledger: Pick<Ledger, 'stats'>,
  maxBytes: number,
  log: Logger,
): { stop(): Promise<void> } {
  let saidAtMs = Number.NEGATIVE_INFINITY
  let wasLate = false
  const recording = repeat(async () => {
    const { uncommittedRecords, uncommittedBytes, oldestUncommittedMs } = ledger.stats()
    const isLate = oldestUncommittedMs >= LATE_MS
    const nowMs = performance.now()
    const isDue = nowMs - saidAtMs >= (isLate ? LATE_MS : SAY_MS)
    if (!isDue && isLate === wasLate) return
    const journal = { uncommittedRecords, uncommittedBytes, oldestUncommittedMs, maxBytes }
    await recordGatewayJournal(pool, gateway, journal).then(
      () => {
        saidAtMs = nowMs
        wasLate = isLate
      },
      (err: unknown) => log.debug({ err }, 'how full the journal is, is recorded later'),
    )
  }, CHECK_MS)
  return {
    async stop() {
      await recording.stop()
      await withinDeadline(deleteGatewayJournal(pool, gateway), LAST_MS).catch(() => {})
    },
  }
}

interface PriceRecording {
  /** The configuration was read again. */
  record(): void
  stop(): Promise<void>
}

/**
 * Records the prices of this gateway in Postgres, for commands that price the past. Without Postgres they are
 * recorded later.
 */
export function recordPrices(
  pool: Postgres,
  gateway: string,
  prices: () => RecordedPrices,
  log: Logger,
): PriceRecording {
  let recording = Promise.resolve()
  const record = () => {
    recording = recording
      .then(() => recordGatewayPrices(pool, gateway, prices()))
      .catch((err: unknown) => log.debug({ err }, 'the prices of this gateway are recorded later'))
  }
  const timer = setInterval(record, RECORD_PRICES_MS).unref()
  record()
  return {
    record,
    async stop() {
      clearInterval(timer)
      await recording
      await withinDeadline(recordGatewayStopped(pool, gateway), LAST_MS).catch(() => {})
    },
  }
}
