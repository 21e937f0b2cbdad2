import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type OutboxState, type SkippedCalls, selectOutboxState } from '../outbox/outbox-state.ts'

const NAME = 'kafka'
/** Calls that wait longer are late. */
const KAFKA_LATE_MS = 60_000
/** A worker that is started again takes less. */
const UNHELD_MS = 60_000
/** Calls that were skipped longer ago are a hint, like old gaps. */
const NEWS_MS = 7 * 86_400_000

/** Checks that calls reach Kafka; nothing where no worker ever sent any. */
async function checkKafka(pool: Postgres, nowMs: number): Promise<readonly Finding[]> {
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
      'start workers with CALLS_KAFKA_BROKERS; if Kafka is not wanted any more: tallygate kafka off',
    )
  }
  if (problem !== null) {
    return failure(
      NAME,
      `calls do not reach Kafka: ${problem}; ${waits}`,
      'start the brokers, or correct CALLS_KAFKA_* of the workers; calls are counted all the same',
    )
  }
  if (oldestAt !== null && nowMs - oldestAt.getTime() > KAFKA_LATE_MS) {
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
    `while Postgres keeps them: tallygate usage export --format cloudevents --from ${from} --to ${to}; docs/export.md, section 4`,
  )
}

/** Whether calls wait for too long, or cannot be sent, where a worker is there to do so. */
export function isKafkaBehind({ oldestAt, problem, heldUntil }: OutboxState, nowMs: number): boolean {
  const isLate = (at: Date | null) => at !== null && nowMs - at.getTime() > KAFKA_LATE_MS
  return isLate(oldestAt) || (problem !== null && !isLate(heldUntil))
}

export const KAFKA: Condition<{ readonly pool: Postgres; readonly nowMs: number }> = {
  name: 'kafka',
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: KAFKA_LATE_MS / 1000, unit: 's' },
  find: ({ pool, nowMs }) => checkKafka(pool, nowMs),
  readiness: { item: 'kafka', lacks: ({ kafkaBehind }) => kafkaBehind },
  rules: [
    {
      name: 'KafkaLate',
      expr: `tallygate_kafka_oldest_waiting_seconds > ${KAFKA_LATE_MS / 1000}`,
      for: '5m',
      severity: 'ticket',
      summary: 'Calls are counted and do not reach Kafka: `tallygate doctor` says why.',
    },
    {
      name: 'KafkaSkipped',
      expr: 'increase(tallygate_kafka_skipped_calls_total[1h]) > 0',
      severity: 'page',
      summary: 'Too many calls wait for Kafka, and further ones are not sent: docs/export.md, section 4.',
    },
  ],
}
