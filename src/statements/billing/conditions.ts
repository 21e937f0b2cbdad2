import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type BillingState, selectBillingStates } from './billing-state.ts'

const NAME = 'billing'
/** Events that wait longer are late, and a worker that is started again takes less. */
const LATE_MS = 900_000

/** What is wrong with one billing system, and what to do; `null`: nothing. */
function troubleOf(state: BillingState, nowMs: number): { what: string; mend: string } | null {
  const { receiver, problem, waitingEvents, oldestAt, refusedEvents, refusedWhy, doubtfulEvents, seenAt } =
    state
  const waits =
    oldestAt === null
      ? 'none waits'
      : `${waitingEvents} events wait, the oldest since ${oldestAt.toISOString()}`
  if (nowMs - seenAt.getTime() > LATE_MS)
    return {
      what: `no worker sends sums to ${receiver} since ${seenAt.toISOString()}: ${waits}`,
      mend: `start workers with it in billing of TALLYGATE_CONFIG; if it is not wanted any more: tallygate billing off ${receiver}`,
    }
  if (problem !== null)
    return {
      what: `sums do not reach ${receiver}: ${problem}; ${waits}`,
      mend: 'correct its url or secret_env in TALLYGATE_CONFIG of the workers; events wait until it answers',
    }
  if (refusedEvents > 0)
    return {
      what: `${receiver} refused ${refusedEvents} events, the last as ${refusedWhy ?? 'it did not say why'}`,
      mend: `see them: tallygate billing events --state refused; correct the customer or the meter; then tallygate billing retry ${receiver}`,
    }
  if (doubtfulEvents > 0)
    return {
      what: `${doubtfulEvents} events may have arrived at ${receiver}, which knows their ids no longer`,
      mend: 'look for each there: tallygate billing events --state doubtful; then tallygate billing settle NUMBER --arrived, or --lost',
    }
  return null
}

async function checkBilling(pool: Postgres, nowMs: number): Promise<readonly Finding[]> {
  return (await selectBillingStates(pool)).map((state) => {
    const trouble = troubleOf(state, nowMs)
    if (trouble !== null) return failure(NAME, trouble.what, trouble.mend)
    const { receiver, oldestAt, sentEvents, clients } = state
    if (oldestAt !== null && nowMs - oldestAt.getTime() > LATE_MS)
      return warning(
        NAME,
        `sums reach ${receiver} late: the oldest waits since ${oldestAt.toISOString()}`,
        'see that it decreases; else it answers too slowly, or clients with events are mapped no more',
      )
    return ok(NAME, `${receiver} took ${sentEvents} events of ${clients} clients`)
  })
}

async function findBillingTroubles(pool: Postgres, nowMs: number): Promise<readonly Occurrence[]> {
  return (await selectBillingStates(pool)).flatMap((state) => {
    const trouble = troubleOf(state, nowMs)
    if (trouble === null) return []
    const { receiver, waitingEvents, refusedEvents, doubtfulEvents } = state
    return [
      dailyOccurrence(receiver, utcDayOf(nowMs), {
        message: withRepair(trouble.what, trouble.mend),
        receiver,
        waiting: waitingEvents,
        refused: refusedEvents,
        doubtful: doubtfulEvents,
      }),
    ]
  })
}

export const BILLING: Condition<{ readonly pool: Postgres; readonly nowMs: number }> = {
  name: NAME,
  place: 'postgres',
  severity: 'wrong',
  threshold: { value: LATE_MS / 1_000, unit: 's' },
  find: ({ pool, nowMs }) => checkBilling(pool, nowMs),
  event: 'billing.not_sent',
  alert: {
    kind: 'billing',
    meaning: 'sums do not reach a billing system, or were refused there',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool, nowMs }) => findBillingTroubles(pool, nowMs)],
  },
  rules: [
    {
      name: 'BillingLate',
      expr: `tallygate_billing_oldest_waiting_seconds > ${LATE_MS / 1_000}`,
      for: '5m',
      severity: 'ticket',
      summary: 'Sums do not reach a billing system: `tallygate doctor` says why.',
    },
    {
      name: 'BillingSetApart',
      expr: 'tallygate_billing_set_apart_events > 0',
      severity: 'ticket',
      summary: 'A billing system refused events, or may have them: docs/billing.md, section 4.',
    },
  ],
}
