import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { ClientReplays, selectClientsWithOwn } from '../replay/client-replays.ts'
import { readPastCalls } from '../replay/past-calls.ts'
import { selectDoneDays, selectSpared, writeTriedDay } from './tried-days.ts'
import { selectTried } from './tried-table.ts'

/** A limit on its way through the days. */
interface Trial {
  readonly replays: ClientReplays
  /** Whose calls are begun with: rates and running calls of the day before reach into `countFrom`. */
  readonly readFrom: UtcDay
  /** The first day that is written. */
  readonly countFrom: UtcDay
}

/**
 * Replays the limits that are tried over the days that are not counted for good, up to that of `nowMs`. All is counted
 * again each time, so it may be run as often as one likes, also twice at once.
 *
 * @returns How many limits are tried.
 */
export async function countTried(pool: Postgres, nowMs: number): Promise<number> {
  const tried = await selectTried(pool)
  if (tried.length === 0) return 0
  const today = utcDayOf(nowMs)
  const done = await selectDoneDays(pool)
  const kept = [...(await selectCallDays(pool))].filter((day) => day <= today).toSorted()
  const trials: Trial[] = []
  for (const { limit, fromDay } of tried) {
    const doneDay = done.get(limit.id)
    const countFrom = doneDay === undefined ? fromDay : addDays(doneDay, 1)
    const wanted = countFrom > fromDay ? addDays(countFrom, -1) : countFrom
    // Of days that are kept no more, there is still what was spent: it is of the time before the first call.
    const readFrom = kept.find((day) => day >= wanted)
    if (readFrom === undefined) continue
    const without = await selectClientsWithOwn(pool, limit)
    const replays = new ClientReplays(limit, readFrom, without, (clientIds, days) =>
      selectSpared(pool, limit.id, clientIds, days),
    )
    trials.push({ replays, readFrom, countFrom })
  }
  const [first = addDays(today, 1)] = trials.map(({ readFrom }) => readFrom).toSorted()
  for (const day of kept) if (day >= first) await countDay(pool, day, trials, nowMs)
  return tried.length
}

async function countDay(pool: Postgres, day: UtcDay, trials: readonly Trial[], nowMs: number): Promise<void> {
  const running = trials.filter(({ readFrom }) => readFrom <= day)
  const ofAll = running.filter(({ replays: { limit } }) => limit.clientId === null)
  const ofClients = Map.groupBy(running, ({ replays: { limit } }) => limit.clientId)
  const clientIds = ofAll.length > 0 ? null : [...ofClients.keys()].flatMap((id) => id ?? [])
  await readPastCalls(pool, day, clientIds, async (calls) => {
    const callers = calls.map(({ clientId }) => clientId)
    for (const { replays } of running) await replays.open(pool, callers)
    for (const call of calls) {
      for (const { replays } of ofAll) replays.refuses(call)
      for (const { replays } of ofClients.get(call.clientId) ?? []) replays.refuses(call)
    }
  })
  for (const { replays, countFrom } of running) {
    const sums = replays.takeSums()
    if (day >= countFrom) await writeTriedDay(pool, replays.limit.id, day, sums, nowMs)
  }
}
