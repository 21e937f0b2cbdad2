import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pepperId } from '../../src/domain/api-key.ts'
import { createClientKey, type NewKey } from '../../src/keys/keys.ts'
import { childrenOf } from '../../src/standalone/stand/child-processes.ts'
import { memoryOf, useOf } from '../stand/proc.ts'
import { type StandGateway, startStand } from '../stand/stand.ts'

/**
 * What keys cost: memory a key, time and processor time until a gateway is ready, Postgres's time of one changed key,
 * and how soon a revoked key is refused by every gateway. Linux: reads /proc.
 *
 *   node bench/keys/main.ts [--keys 300000] [--clients 100000] [--gateways 3] [--revoked 60]
 */
const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '300000' },
    clients: { type: 'string', default: '100000' },
    gateways: { type: 'string', default: '3' },
    revoked: { type: 'string', default: '60' },
  },
})
const [KEYS, CLIENTS, GATEWAYS, REVOKED] = [values.keys, values.clients, values.gateways, values.revoked].map(
  Number,
) as [number, number, number, number]
/** Changes of a key, one each 600 ms: more than a poll's time, so that each is read apart. */
const CHANGES = 20
const CHANGE_EVERY_MS = 600
const PROBE_MS = 10
const GIVE_UP_MS = 10_000

const adminToken = randomBytes(16).toString('hex')
const stand = await startStand({
  name: 'keys',
  statementTimeoutMs: 600_000,
  connections: 2,
  env: { ADMIN_TOKEN: adminToken, UPSTREAM_URL: 'http://127.0.0.1:9' },
})
const { pool, pepper, postgres } = stand
await measure()
await stand.stop()
process.exit(0)

/** A gateway, with what its start took. */
async function start() {
  const gateway = await stand.gateway({ pollMs: 20 })
  const startedMs = performance.now()
  await gateway.start()
  const readyMs = performance.now() - startedMs
  const readyCpuMs = cpuMsOf([gateway.pid])
  await delay(3_000) // until its start is over
  return { gateway, readyMs, readyCpuMs, rss: rssOf(gateway.pid) }
}

async function measure(): Promise<void> {
  const empty = await start()
  await empty.gateway.stop(20_000)

  const loadedMs = performance.now()
  await loadKeys()
  say(`${KEYS} keys of ${CLIENTS} clients are in Postgres`, `${seconds(performance.now() - loadedMs)} s`)
  const known: NewKey[] = []
  for (let index = 0; index < REVOKED; index += 1) known.push(await newKey(index))
  await pool.query('analyze tallygate.keys, tallygate.clients')

  const gateways: StandGateway[] = []
  for (let index = 0; index < GATEWAYS; index += 1) {
    const before = cpuMsOf(childrenOf(postgres.pid))
    const { gateway, readyMs, readyCpuMs, rss } = await start()
    const postgresMs = cpuMsOf(childrenOf(postgres.pid)) - before
    say(
      `gateway ${index + 1} ready`,
      `${seconds(readyMs)} s, ${seconds(readyCpuMs)} s of CPU (${seconds(empty.readyCpuMs)} without keys), ` +
        `${seconds(postgresMs)} s of Postgres; ${mega(rss)} MB (${mega(empty.rss)} without keys): ` +
        `${Math.round((rss - empty.rss) / KEYS)} bytes a key`,
    )
    gateways.push(gateway)
  }

  const backends = () => childrenOf(postgres.pid)
  const idleMs = await during(backends, () => delay(CHANGES * CHANGE_EVERY_MS))
  const changedMs = await during(backends, async () => {
    for (let index = 0; index < CHANGES; index += 1) {
      await changeKey(known[index % known.length]?.id ?? '')
      await delay(CHANGE_EVERY_MS)
    }
  })
  say(
    'Postgres CPU of one changed key',
    `${((changedMs - idleMs) / CHANGES).toFixed(1)} ms with ${GATEWAYS} gateways (all of Postgres, idle polling taken off)`,
  )
  say('the select of one change', await explainChange())

  const delays: number[] = []
  for (const { id, key } of known) delays.push(...(await revoke(gateways, id, key)))
  delays.sort((left, right) => left - right)
  const at = (share: number) => Math.round(delays[Math.ceil(delays.length * share) - 1] ?? Number.NaN)
  say(
    `a revoked key is refused, ${GATEWAYS} gateways, n = ${delays.length}`,
    `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`,
  )
}

/** Keys that no client has: their digests are of no text. */
async function loadKeys(): Promise<void> {
  await pool.query(
    `insert into tallygate.clients (id, name, version)
     select 'cli_' || lpad(n::text, 20, '0'), 'client number ' || n, n from generate_series(1, $1::int) n`,
    [CLIENTS],
  )
  await pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     select 'key_' || lpad(n::text, 20, '0'), 'cli_' || lpad((1 + n % $2)::text, 20, '0'), 'default', 'tg_xxxxxxxx',
       sha256(n::text::bytea), $3, $2 + n
     from generate_series(1, $1::int) n`,
    [KEYS, CLIENTS, pepperId(pepper)],
  )
  await pool.query('update tallygate.key_version set version = $1', [KEYS + CLIENTS])
}

async function newKey(index: number): Promise<NewKey> {
  const client = `client number ${1 + ((index * 997) % CLIENTS)}`
  const key = await createClientKey(
    pool,
    { client, name: 'used', models: null, expiresInSeconds: null },
    pepper,
  )
  if (key === null) throw new Error(`${client} is missing`)
  return key
}

async function changeKey(id: string): Promise<void> {
  await pool.query(
    `with change as (update tallygate.key_version set version = version + 1 returning version)
     update tallygate.keys set name = name || '.', version = change.version from change where id = $1`,
    [id],
  )
}

async function during(pids: () => readonly number[], work: () => Promise<void>): Promise<number> {
  const before = new Map(pids().map((pid) => [pid, cpuMsOf([pid])]))
  await work()
  return pids().reduce((sum, pid) => sum + cpuMsOf([pid]) - (before.get(pid) ?? 0), 0)
}

/** As src/keys/key-records.ts asks: the time of the statement with a single change. */
async function explainChange(): Promise<string> {
  const columns = 'k.id, k.name, c.name, k.digest, k.models, k.expires_at, k.revoked_at, c.disabled'
  const state = await pool.query('select version - 1 as before from tallygate.key_version')
  const before = String(state.rows[0]?.before)
  const { rows } = await pool.query(
    `explain (analyze, buffers)
     (select ${columns} from tallygate.keys k join tallygate.clients c on c.id = k.client_id
       where k.version > ${before} limit 20001)
     union all
     (select ${columns} from tallygate.clients c join tallygate.keys k on k.client_id = c.id
       where c.version > ${before} limit 20001)`,
  )
  const lines = rows.map((row) => String(row['QUERY PLAN']))
  return lines.filter((line) => /(Planning|Execution) Time/.test(line)).join(', ')
}

/** Milliseconds from the answer of the revocation until each gateway refuses the key. */
async function revoke(gateways: readonly StandGateway[], id: string, key: string): Promise<number[]> {
  const headers = { authorization: `Bearer ${key}` }
  const ask = async ({ url }: StandGateway) => {
    const answer = await fetch(`${url}/v1/models`, { headers })
    await answer.arrayBuffer()
    return answer.status
  }
  for (const gateway of gateways) {
    const status = await ask(gateway)
    if (status === 401 || status === 403) throw new Error(`a key is refused before it is revoked: ${status}`)
  }
  const answer = await fetch(`${gateways[0]?.adminUrl}/admin/v1/keys/${id}/revoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}` },
  })
  if (!answer.ok) throw new Error(`the revocation failed: ${answer.status}`)
  const startedMs = performance.now()
  return await Promise.all(
    gateways.map(async (gateway) => {
      while (performance.now() - startedMs < GIVE_UP_MS) {
        const status = await ask(gateway)
        if (status === 401 || status === 403) break
        await delay(PROBE_MS)
      }
      return performance.now() - startedMs
    }),
  )
}

function say(what: string, figure: string): void {
  console.log(`${what}: ${figure}`)
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

function mega(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0)
}

/** Processor time since they began, user and system together, in ms. */
function cpuMsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + (useOf(pid)?.accountedUs ?? 0) / 1000, 0)
}

function rssOf(pid: number): number {
  return (memoryOf(pid)?.rssMb ?? Number.NaN) * 1e6
}
