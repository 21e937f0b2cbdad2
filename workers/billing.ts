import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { settledWithin } from '../src/lib/deadline.ts'
import type { Logger } from '../src/lib/logger.ts'
import { atMostEvery, repeat } from '../src/lib/repeat.ts'
import { holdReceiver, leaveReceiver, setReceiverProblem } from '../src/statements/billing/billing-state.ts'
import { makeEvents } from '../src/statements/billing/make-events.ts'
import type { BillingReceiver } from '../src/statements/billing/mouths.ts'
import { ReceiverProblem, sendEvents } from '../src/statements/billing/send-events.ts'
import type { Postgres } from '../src/store/connection/postgres.ts'

export interface BillingOptions {
  readonly pool: Postgres
  readonly receivers: readonly BillingReceiver[]
  readonly log: Logger
  readonly times?: Partial<BillingTimes>
}

/** In milliseconds. */
interface BillingTimes {
  /** Between two checks whether there is anything to do. */
  readonly idle: number
  /** A worker that was killed is followed by another one after this time. */
  readonly lease: number
  /** First pause after a failure; each further one is twice as long, up to `longestPause`. */
  readonly pause: number
  readonly longestPause: number
}

/** The worker's part in sending sums to billing systems. */
export interface Billing {
  /** Ends after the requests under way, and lets another worker go on at once. */
  close(): Promise<void>
}

const TIMES: BillingTimes = { idle: 5_000, lease: 30_000, pause: 5_000, longestPause: 300_000 }
const LOG_EVERY_MS = 60_000
const LOG_AT_MOST_EVERY_MS = 3_600_000
const CLOSE_MS = 12_000

/** Each receiver for itself, by one worker at a time: one that is away or slow holds up no other. */
export function startBilling({ pool, receivers, log, times }: BillingOptions): Billing {
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`
  const serving = receivers.map((receiver) =>
    serveReceiver({ pool, receiver, holder, log, times: { ...TIMES, ...times } }),
  )
  return {
    async close() {
      await Promise.all(serving.map((one) => settledWithin(one.close(), CLOSE_MS)))
    },
  }
}

interface ServingOptions {
  readonly pool: Postgres
  readonly receiver: BillingReceiver
  readonly holder: string
  readonly log: Logger
  readonly times: BillingTimes
}

function serveReceiver({ pool, receiver, holder, log, times }: ServingOptions): Billing {
  const { name } = receiver
  const gate = atMostEvery(LOG_EVERY_MS, LOG_AT_MOST_EVERY_MS)
  let isStopped = false
  let pauseMs = times.pause
  let notBeforeMs = Number.NEGATIVE_INFINITY

  async function turn(): Promise<void> {
    if (performance.now() < notBeforeMs) return
    const sinceMs = await holdReceiver(pool, receiver, holder, times.lease)
    if (sinceMs === null) return
    // One that stood still for longer than its lease is followed by another one.
    let isLost = false
    const renew = () =>
      void holdReceiver(pool, receiver, holder, times.lease).then(
        (since) => {
          isLost ||= since === null
        },
        () => {},
      )
    const holding = setInterval(renew, times.lease / 3)
    try {
      if (sinceMs >= receiver.everyMs) await makeEvents(pool, receiver)
      await sendEvents(pool, receiver, () => isStopped || isLost)
      // One that was stopped has not seen that all is well.
      if (isStopped || isLost) return
      await setReceiverProblem(pool, name, null)
    } finally {
      clearInterval(holding)
    }
    pauseMs = times.pause
    if (gate.reopen())
      log.info({ event: 'billing.back', receiver: name }, 'a billing system takes sums again')
  }

  async function failed(error: unknown): Promise<void> {
    notBeforeMs = performance.now() + pauseMs
    pauseMs = Math.min(pauseMs * 2, times.longestPause)
    const problem = error instanceof ReceiverProblem ? error.message : null
    if (gate.passes())
      log.error(
        { event: 'billing.not_sent', receiver: name, ...(problem === null ? { err: error } : { problem }) },
        'sums do not reach a billing system; they wait',
      )
    // Where it was Postgres that failed, this fails too.
    if (problem !== null) await setReceiverProblem(pool, name, problem).catch(() => {})
  }

  const working = repeat(() => turn().catch(failed), times.idle)
  return {
    async close() {
      isStopped = true
      await working.stop()
      await leaveReceiver(pool, name, holder).catch(() => {})
    },
  }
}
