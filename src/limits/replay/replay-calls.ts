import type { Period } from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { selectClientNames } from '../../keys/clients.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { selectUsageDays } from '../../usage/days/usage-days.ts'
import type { Limit } from '../limit.ts'
import { ClientReplays, type ReplayedSums, selectClientsWithOwn } from './client-replays.ts'
import { readPastCalls } from './past-calls.ts'

/** What a limit would have done to the calls of one client. */
export interface ReplayedClient extends ReplayedSums {
  readonly clientId: string
  /** `null`: it is not known any more. */
  readonly client: string | null
}

export interface ReplayRefusal {
  readonly callId: string
  readonly clientId: string
  readonly arrivedAtMs: number
}

export interface Replayed {
  readonly clients: readonly ReplayedClient[]
  /** The first ones, in the order of their arrival. */
  readonly refused: readonly ReplayRefusal[]
  /** Days with use of which no calls are kept. */
  readonly daysWithoutCalls: readonly UtcDay[]
}

const MOST_NAMED = 100

/** Replays a limit over the stored calls of a period. A limit of no client holds for each client apart. */
export async function replayLimit(
  pool: Postgres,
  limit: Limit,
  { fromDay, toDay }: Period,
  onProgress: (day: UtcDay, calls: number) => void,
): Promise<Replayed> {
  const replays = new ClientReplays(limit, fromDay, await selectClientsWithOwn(pool, limit))
  const refused: ReplayRefusal[] = []
  const daysWithoutCalls: UtcDay[] = []
  const kept = await selectCallDays(pool)
  let calls = 0
  for (const day of await selectUsageDays(pool, fromDay, toDay)) {
    if (!kept.has(day)) {
      daysWithoutCalls.push(day)
      continue
    }
    await readPastCalls(pool, day, limit.clientId === null ? null : [limit.clientId], async (page) => {
      await replays.open(
        pool,
        page.map(({ clientId }) => clientId),
      )
      for (const call of page) {
        const { callId, clientId, arrivedAtMs } = call
        if (replays.refuses(call) && refused.length < MOST_NAMED)
          refused.push({ callId, clientId, arrivedAtMs })
      }
      calls += page.length
    })
    onProgress(day, calls)
  }
  const sums = replays.takeSums()
  const names = await selectClientNames(pool, sums.keys())
  const clients = [...sums].map(([clientId, one]) => ({
    clientId,
    client: names.get(clientId) ?? null,
    ...one,
  }))
  return { clients, refused, daysWithoutCalls }
}
