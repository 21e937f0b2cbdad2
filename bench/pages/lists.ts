import { addDays, type UtcDay, utcDayOf } from '../../src/domain/utc-day.ts'
import { addNetworks } from '../../src/keys/networks/network-table.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { percentilesOf } from '../stand/figures.ts'
import { startStand } from '../stand/stand.ts'
import { fill } from '../usage/fill.ts'
import { sumUp } from '../usage/measure.ts'

/** A list as the page asks for it. */
export interface List {
  readonly query: string
  /** Of the first request, which may read what later ones find kept. */
  readonly firstMs: number
  /** The slowest of `TIMES` after it. */
  readonly ms: number
  /** Over the wire. */
  readonly bytes: number
}

export interface Lists {
  readonly clients: number
  readonly keys: number
  readonly limits: number
  readonly lists: readonly List[]
  /** The budget nearest its end, which was made last, stands first. */
  readonly isNearestFirst: boolean
}

const KEYS_PER_CLIENT = 5
const DAYS = 35
const TIMES = 10

const QUERIES = [
  'clients?limit=100',
  'keys?limit=100',
  'keys?client=client+7&limit=100',
  'keys/networks?limit=50&new=true',
  'limits?sort=used&limit=6',
  'limits?sort=used&limit=50&state=all',
  'limits?sort=used&limit=50&state=near',
  'limits?sort=id&limit=50',
  'limits?client=client+7&sort=id&limit=50',
  'limits/history?limit=20',
  'refused?days=30&group_by=client%2Creason&limit=100',
  'audit?limit=50',
]

type StandOptions = Omit<Parameters<typeof startStand>[0], 'name'>

/** Lists over so many clients, five times as many keys, and a budget each. */
export async function measureLists(options: StandOptions, token: string, clients: number): Promise<Lists> {
  const stand = await startStand({ ...options, name: 'lists' })
  try {
    await fillLists(stand.pool, clients)
    await sumUp(stand)
    const gateway = await stand.gateway()
    await gateway.start()
    const lists: List[] = []
    const ask = async (query: string) => {
      const startedMs = performance.now()
      const response = await fetch(`${gateway.adminUrl}/admin/v1/${query}`, {
        headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'br' },
      })
      const answer: unknown = await response.json()
      if (!response.ok) throw new Error(`${query}: ${response.status}`)
      const next = response.headers.get('x-tallygate-next-cursor')
      return {
        ms: performance.now() - startedMs,
        bytes: Number(response.headers.get('content-length')),
        answer,
        next,
      }
    }
    const measure = async (query: string, name = query) => {
      const first = await ask(query)
      const answers: Awaited<ReturnType<typeof ask>>[] = []
      for (let time = 0; time < TIMES; time += 1) answers.push(await ask(query))
      const { max } = percentilesOf(answers.map(({ ms }) => ms))
      const bytes = Math.max(...answers.map((answer) => answer.bytes))
      lists.push({ query: name, firstMs: first.ms, ms: max, bytes })
      console.error(`${name}: first ${first.ms.toFixed(1)}, then ${max.toFixed(1)} ms, ${bytes} bytes`)
      return first
    }
    let nearest: unknown = null
    for (const query of QUERIES) {
      const { answer, next } = await measure(query)
      if (query === 'limits?sort=used&limit=6') nearest = answer
      if (next !== null) await measure(`${query}&cursor=${encodeURIComponent(next)}`, `${query}, next page`)
    }
    const [first] = nearest as readonly { readonly client: string }[]
    return {
      ...{ clients, keys: clients * KEYS_PER_CLIENT, limits: clients },
      lists,
      isNearestFirst: first?.client === `client ${clients}`,
    }
  } finally {
    await stand.stop()
  }
}

async function fillLists(pool: Postgres, clients: number): Promise<void> {
  const today = utcDayOf(Date.now())
  await fill(pool, { clients, days: DAYS, calls: 0, keys: 1, models: 1 }, addDays(today, 1 - DAYS), today)
  // Most keys of a client are used seldom.
  await pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     select 'key_' || substr(md5(id || k), 1, 20), client_id, 'key ' || k, prefix,
       sha256(digest || convert_to(k::text, 'UTF8')), pepper_id, version
     from tallygate.keys, generate_series(2, $1::int) k`,
    [KEYS_PER_CLIENT],
  )
  // Of each client a budget, the last of them all but spent.
  await pool.query(
    `insert into tallygate.limits (client_id, kind, per, amount, version)
     select id, 'budget', 'month', case when name = $1 then 1 else 1e12 end, 0
     from tallygate.clients order by length(name), name`,
    [`client ${clients}`],
  )
  await pool.query(
    `insert into tallygate.refusals (day, client_id, key_id, model, limit_id, reason, calls)
     select $1::date - d, id, '', '', '', reason, 3 from tallygate.clients,
       generate_series(0, 4) d, unnest(array['budget', 'requests']) reason`,
    [today],
  )
  await fillNetworks(pool, today)
  await pool.query('vacuum analyze')
}

/** A key of each client comes from two networks on ten days, and from a third today where it is one of fifty. */
async function fillNetworks(pool: Postgres, today: UtcDay): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(`select id from tallygate.keys where name = 'key 1'`)
  const countsOf = (day: UtcDay, network: string, keys: typeof rows) =>
    keys.map(({ id: keyId }) => ({ day, keyId, network, calls: 3 }))
  for (let ago = 9; ago >= 0; ago -= 1)
    for (const network of ['10.1.0.0/24', '10.2.0.0/24'])
      await addNetworks(pool, countsOf(addDays(today, -ago), network, rows))
  const some = rows.filter((_, at) => at % 50 === 0)
  await addNetworks(pool, countsOf(today, '10.3.0.0/24', some))
}
