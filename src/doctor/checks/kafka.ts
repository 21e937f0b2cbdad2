import type { Postgres } from '../../store/connection/postgres.ts'
import { type OutboxState, type SkippedCalls, selectOutboxState } from '../../usage/outbox/outbox-state.ts'
import { type Finding, failure, ok, warning } from '../finding.ts'

const NAME = 'kafka'
/** Calls that wait longer are reported. */
const LATE_MS = 60_000
/** A worker that is started again takes less. */
const UNHELD_MS = 60_000
/** Calls that were skipped longer ago are a hint, like old gaps. */
const NEWS_MS = 7 * 86_400_000

/** Checks that calls reach Kafka; nothing where no worker ever sent any. */
export async function checkKafka(pool: Postgres, nowMs = Date.now()): Promise<readonly Finding[]> {
  const state = await selectOutboxState(pool)
  if (state === null) return []
  return [
    sendingFinding(state, nowMs),
    ...(state.skipped === null ? [] : [skippedFinding(state.skipped, nowMs)]),
  ]
}

function sendingFinding(state: OutboxState, nowMs: number): Finding {
  const { problem, held, heldUntil, waitingCalls, oldestAt, sentCalls, sentAt } = state
  const waits =
    oldestAt === null ? 'none waits' : `${waitingCalls} wait, the oldest since ${oldestAt.toISOString()}`
  if (!held && nowMs - heldUntil.getTime() > UNHELD_MS) {
    if (oldestAt === null) return ok(NAME, `not in use since ${heldUntil.toISOString()}`)
    return failure(
      NAME,
      `no worker sends calls to Kafka: ${waits}`,
      'start workers with CALLS_KAFKA_BROKERS; if they are not wanted any more: truncate tallygate.call_outbox',
    )
  }
  if (problem !== null) {
    return failure(
      NAME,
      `calls do not reach Kafka: ${problem}; ${waits}`,
      'start the brokers, or correct CALLS_KAFKA_* of the workers; calls are counted all the same',
    )
  }
  if (oldestAt !== null && nowMs - oldestAt.getTime() > LATE_MS) {
    return warning(
      NAME,
      `calls reach Kafka late: ${waits}`,
      'see that it decreases; else the brokers are too slow',
    )
  }
  return ok(
    NAME,
    `${sentCalls} calls sent, the last ${sentAt === null ? 'never' : sentAt.toISOString()}; ${waits}`,
  )
}

function skippedFinding({ calls, from, to, at }: SkippedCalls, nowMs: number): Finding {
  const isNews = nowMs - at.getTime() < NEWS_MS
  return (isNews ? failure : warning)(
    'kafka outbox',
    `${calls} calls of ${from === to ? from : `${from} to ${to}`} did not go to Kafka: too many waited`,
    `while Postgres keeps them: usage export --format cloudevents --from ${from} --to ${to}; docs/export.md, section 4`,
  )
}
