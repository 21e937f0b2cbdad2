import { setTimeout as delay } from 'node:timers/promises'
import type { Period } from '../../src/domain/period.ts'
import { addDays, type UtcDay, utcDayOf } from '../../src/domain/utc-day.ts'
import { moveInto } from '../../src/keys/groups/group-moves.ts'
import { createGroup } from '../../src/keys/groups/groups.ts'
import type { Random } from '../../src/standalone/prove/random.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { selectGroupSums } from '../../src/usage/report/group-sums.ts'

/** Groups whose clients move while calls go on. */
export interface MovingGroups {
  /** No client moves from here on. */
  stop(): Promise<void>
  /** Groups whose sums are not those of the clients that were moved into them, in words; empty: none. */
  wrongSums(): Promise<readonly string[]>
  describe(): string
}

/** The days that have usage. */
export async function periodOfAll(pool: Postgres): Promise<Period> {
  const { rows } = await pool.query<{ from: UtcDay | null; to: UtcDay | null }>(
    'select min(day) as from, max(day) as to from tallygate.daily_usage',
  )
  const today = utcDayOf(Date.now())
  return { fromDay: rows[0]?.from ?? today, toDay: rows[0]?.to ?? today }
}

/** An organization, its departments, and their teams. */
const TREE: Readonly<Record<string, readonly string[]>> = {
  research: ['models', 'data'],
  product: ['web', 'apps'],
}
const BETWEEN_MOVES_MS = 1_500

/** Puts every client into a team, and moves one now and then. */
export async function startGroups(pool: Postgres, random: Random): Promise<MovingGroups> {
  const parents = new Map<string, string | null>()
  const create = async (name: string, parentId: string | null) => {
    const id = await createGroup(pool, name, parentId)
    if (typeof id !== 'string' || !id.startsWith('grp_')) throw new Error(`no group ${name}: ${id}`)
    parents.set(id, parentId)
    return id
  }
  const organization = await create('organization', null)
  const teams: string[] = []
  for (const [department, names] of Object.entries(TREE)) {
    const parentId = await create(department, organization)
    for (const name of names) teams.push(await create(name, parentId))
  }
  /** The team of each client from each day on. */
  const placings = new Map<string, Map<UtcDay, string>>()
  const place = async (clientId: string, teamId: string, from: UtcDay) => {
    await moveInto(pool, clientId, teamId, from)
    const own = placings.get(clientId) ?? new Map<UtcDay, string>()
    placings.set(clientId, own.set(from, teamId))
  }
  const { rows: clients } = await pool.query<{ id: string }>('select id from tallygate.clients order by name')
  for (const [index, { id }] of clients.entries())
    await place(id, teams[index % teams.length] ?? '', addDays(utcDayOf(Date.now()), -1))

  let moves = 0
  let stops = false
  const moving = (async () => {
    while (!stops) {
      await delay(BETWEEN_MOVES_MS)
      const [client, team, day] = [random.pick(clients).id, random.pick(teams), utcDayOf(Date.now())]
      // A fault may leave it open whether the move was made: it is made until that is known.
      while (
        !(await place(client, team, day).then(
          () => true,
          () => false,
        ))
      )
        await delay(500)
      moves += 1
    }
  })()

  const teamOn = (clientId: string, day: UtcDay) =>
    [...(placings.get(clientId) ?? [])].filter(([from]) => from <= day).at(-1)?.[1] ?? null

  return {
    async stop() {
      stops = true
      await moving
    },
    async wrongSums() {
      const { rows } = await pool.query<{ client_id: string; day: UtcDay; requests: string; cost: string }>(
        `select client_id, day, sum(requests) as requests, sum(cost_pico + adjusted_pico) as cost
         from tallygate.daily_usage group by client_id, day`,
      )
      const expected = new Map([...parents.keys()].map((id) => [id, { requests: 0n, costPico: 0n }]))
      for (const { client_id, day, requests, cost } of rows) {
        for (let id = teamOn(client_id, day); id !== null; id = parents.get(id) ?? null) {
          const sum = expected.get(id)
          if (sum === undefined) continue
          sum.requests += BigInt(requests)
          sum.costPico += BigInt(cost)
        }
      }
      const found = await selectGroupSums(pool, await periodOfAll(pool))
      return found.flatMap(({ group, sums }) => {
        const own = group === null ? { requests: 0n, costPico: 0n } : expected.get(group.id)
        if (own?.requests === sums.requests && own.costPico === sums.costPico) return []
        const name = group?.name ?? 'clients in no group'
        return [
          `${name}: ${sums.requests} calls, ${sums.costPico} pUSD, not ${own?.requests}, ${own?.costPico}`,
        ]
      })
    },
    describe: () => `${parents.size} in three levels, ${clients.length} clients, moved ${moves} times`,
  }
}
