import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import type { StandClient } from '../stand/stand.ts'
import type { LagRig } from './rig.ts'

const BODY = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello?' }] })
const TICK_MS = 5
/** Between two calls of a probe. */
const PROBE_EVERY_MS = 250
/** How often Postgres is asked whether a call is counted: the error of a lag. */
const ASK_EVERY_MS = 4
const GIVE_UP_MS = 10_000
/** Clients that are none of the load. */
export const PROBES = 3

/** What the probes saw. */
export interface Lags {
  /** Milliseconds from the end of a call to its row in `daily_usage`. */
  readonly lagMs: number[]
  /** Milliseconds that `GET /v1/usage` took right after the same client's call. */
  readonly ownMs: number[]
  /** And for a client that makes no calls, so that nothing is waited for: the rest of those above. */
  readonly idleMs: number[]
  /** Answers of those that lacked the call, and those among them that did not say that they might. */
  unseen: number
  unmarked: number
  /** Calls made by others, and those that failed. */
  calls: number
  failed: number
}

/**
 * Calls at a fixed rate by all clients but the last three, which are probes, for some seconds. Probes have connections of
 * their own: behind those of the others they would measure how long these wait for a free one.
 */
export async function measureLags(rig: LagRig, perSecond: number, seconds: number): Promise<Lags> {
  const agent = new Agent({ connections: 256 })
  const probing = new Agent({ connections: PROBES })
  const lags: Lags = { lagMs: [], ownMs: [], idleMs: [], unseen: 0, unmarked: 0, calls: 0, failed: 0 }
  const [watched, asking, idle] = rig.clients.slice(-PROBES)
  if (watched === undefined || asking === undefined || idle === undefined)
    throw new Error(`${PROBES} clients at least`)
  const others = rig.clients.slice(0, -PROBES)
  const untilMs = performance.now() + seconds * 1_000
  await Promise.all([
    keepCalling(rig, agent, others, perSecond, untilMs, lags),
    probeLag(rig, probing, watched, untilMs, lags),
    probeOwn(rig, probing, asking, untilMs, lags),
    probeIdle(rig, probing, idle, untilMs, lags),
  ])
  await Promise.all([agent.close(), probing.close()])
  return lags
}

async function keepCalling(
  rig: LagRig,
  agent: Agent,
  clients: readonly StandClient[],
  perSecond: number,
  untilMs: number,
  lags: Lags,
): Promise<void> {
  const underWay = new Set<Promise<void>>()
  const beganMs = performance.now()
  for (let nowMs = beganMs; nowMs < untilMs; nowMs = performance.now()) {
    for (; lags.calls < ((nowMs - beganMs) * perSecond) / 1_000; lags.calls += 1) {
      const client = clients[lags.calls % clients.length]
      if (client === undefined) break
      const call = callOnce(rig, agent, client, lags.calls)
        .catch(() => {
          lags.failed += 1
        })
        .finally(() => underWay.delete(call))
      underWay.add(call)
    }
    await delay(TICK_MS)
  }
  await Promise.all(underWay)
}

async function probeLag(rig: LagRig, agent: Agent, client: StandClient, untilMs: number, lags: Lags) {
  let made = await countOf(rig, client)
  while (performance.now() < untilMs) {
    await callOnce(rig, agent, client)
    const endedMs = performance.now()
    made += 1
    while ((await countOf(rig, client)) < made && performance.now() - endedMs < GIVE_UP_MS)
      await delay(ASK_EVERY_MS)
    lags.lagMs.push(performance.now() - endedMs)
    await delay(Math.random() * 2 * PROBE_EVERY_MS)
  }
}

async function probeOwn(rig: LagRig, agent: Agent, client: StandClient, untilMs: number, lags: Lags) {
  let made = await countOf(rig, client)
  while (performance.now() < untilMs) {
    await callOnce(rig, agent, client)
    const endedMs = performance.now()
    made += 1
    const { requests, isMarked } = await usageOf(rig, agent, client)
    lags.ownMs.push(performance.now() - endedMs)
    if (requests < made) lags.unseen += 1
    if (requests < made && !isMarked) lags.unmarked += 1
    await delay(Math.random() * 2 * PROBE_EVERY_MS)
  }
}

async function probeIdle(rig: LagRig, agent: Agent, client: StandClient, untilMs: number, lags: Lags) {
  while (performance.now() < untilMs) {
    const askedMs = performance.now()
    await usageOf(rig, agent, client)
    lags.idleMs.push(performance.now() - askedMs)
    await delay(Math.random() * 2 * PROBE_EVERY_MS)
  }
}

/** What the client's usage says at the last gateway. */
async function usageOf(
  rig: LagRig,
  agent: Agent,
  client: StandClient,
): Promise<{ readonly requests: number; readonly isMarked: boolean }> {
  const { headers, body } = await agent.request({
    origin: `http://127.0.0.1:${rig.ports.at(-1)}`,
    path: '/v1/usage?days=1',
    method: 'GET',
    headers: { authorization: `Bearer ${client.key}` },
  })
  const { requests } = (await body.json()) as { readonly requests: number }
  return { requests, isMarked: headers['x-tallygate-as-of'] !== undefined }
}

/** At the first gateway, or the one that is next. */
async function callOnce(rig: LagRig, agent: Agent, client: StandClient, next = 0): Promise<void> {
  const { statusCode, body } = await agent.request({
    origin: `http://127.0.0.1:${rig.ports[next % rig.ports.length]}`,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: BODY,
  })
  await body.dump()
  if (statusCode !== 200) throw new Error(`status ${statusCode}`)
}

async function countOf({ pool }: LagRig, { id }: StandClient): Promise<number> {
  const { rows } = await pool.query<{ requests: string }>(
    'select coalesce(sum(requests), 0) as requests from tallygate.daily_usage where client_id = $1',
    [id],
  )
  return Number(rows[0]?.requests ?? 0)
}
