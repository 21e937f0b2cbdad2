import { pruneAlerts } from '../src/alerts/deliveries.ts'
import { addDays, type UtcDay } from '../src/domain/utc-day.ts'
import { pruneNetworks } from '../src/keys/networks/network-table.ts'
import { dropSpentValues } from '../src/limits/spent/value-spending.ts'
import { pruneObjects } from '../src/objects/table/objects-table.ts'
import { addCallDays } from '../src/rollup/call-days.ts'
import { pruneBillingEvents } from '../src/statements/billing/event-table.ts'
import { tryLockPruning } from '../src/store/connection/advisory-locks.ts'
import { inTransaction, type Postgres } from '../src/store/connection/postgres.ts'
import { SCHEMA } from '../src/store/connection/schema.ts'
import { FOLD_DAYS, foldProducers } from '../src/store/ledger/folded-producers.ts'
import {
  dropCallDay,
  finishDroppedCallDays,
  selectCallDays,
  selectToday,
} from '../src/usage/calls/call-partitions.ts'
import { pruneResponses } from '../src/usage/calls/response-collisions.ts'
import { addUsageMonths } from '../src/usage/days/usage-days.ts'

/** Longer than any provider keeps a stored response (30 days). */
const RESPONSE_DAYS = 40
/** The lock outlives any run; that of a worker that froze is free again after this. */
const LONGEST_MS = 3_600_000

export interface Pruned {
  readonly added: readonly UtcDay[]
  readonly dropped: readonly UtcDay[]
  readonly responsesPruned: number
  readonly objectsPruned: number
  readonly alertsPruned: number
  readonly producersFolded: number
}

/**
 * The daily work: creates partitions ahead, drops those older than `retentionDays`, deletes old response ids, and folds
 * producers of long ago.
 * `null`: another process is doing it.
 */
export async function prune(pool: Postgres, retentionDays: number): Promise<Pruned | null> {
  await addUsageMonths(pool)
  const added = await addCallDays(pool, retentionDays)
  return await inTransaction(pool, async (holder) => {
    await holder.query(`set local idle_in_transaction_session_timeout = '${LONGEST_MS}'`)
    return (await tryLockPruning(holder)) ? { added, ...(await pruneAlone(pool, retentionDays)) } : null
  })
}

async function pruneAlone(pool: Postgres, retentionDays: number): Promise<Omit<Pruned, 'added'>> {
  const session = await pool.connect()
  try {
    const dropped = await finishDroppedCallDays(session)
    const oldest = addDays(await selectToday(session), -retentionDays)
    for (const day of [...(await selectCallDays(session))].sort()) {
      if (retentionDays > 0 && day >= oldest) continue
      await dropCallDay(session, day)
      dropped.push(day)
    }
    await pruneNetworks(session, await selectToday(session))
    await pruneBillingEvents(session)
    await dropSpentValues(session)
    await session.query(`delete from ${SCHEMA}.estimate_ratios where at < now() - interval '90 days'`)
    return {
      dropped,
      responsesPruned: await pruneResponses(session, RESPONSE_DAYS),
      objectsPruned: await pruneObjects(session, RESPONSE_DAYS),
      alertsPruned: await pruneAlerts(session),
      producersFolded: await foldProducers(pool, Math.max(FOLD_DAYS, retentionDays)),
    }
  } finally {
    session.release(true)
  }
}
