import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import type { Random } from '../../../src/standalone/prove/random.ts'
import { type Child, READY_WITHIN_MS } from '../../../src/standalone/stand/child.ts'
import { outliving } from '../../../src/standalone/stand/child-processes.ts'
import { type Fault, NotNow } from '../fault.ts'
import type { Gateway, Taker } from '../gateway.ts'
import { CRASH_SIGNALS, type CrashPoint } from '../gateway-signals.ts'
import { MOST_SHARDS, type World } from '../world.ts'

/** After it would have given up itself. */
const GATEWAY_GRACE_MS = 50_000
const WORKER_GRACE_MS = 15_000
/** Longer than BullMQ's lock of a job and Postgres's patience with an idle transaction, both 10 s. */
const FROZEN_MS = 12_000
/** Longer than the stores' patience with a connection. */
const PROCESS_FROZEN_MIN_MS = 2_000
const PROCESS_FROZEN_MAX_MS = 6_000
const FREEZE_TRIES = 400
/** From just longer than a worker's lease lasts, to longer than others take to count the shard in its place. */
const LEASE_LOST_MIN_MS = 1_600
const LEASE_LOST_MAX_MS = 6_000
const STAYS_DEAD_MS = 20_000
/**
 * Another process in half a second, and the time that a start takes: as long as for any gateway, since on a busy machine
 * it takes half a minute and waits for a Postgres that another fault takes away. Adoption every 5 s.
 */
const REPLACED_WITHIN_MS = READY_WITHIN_MS
/** A gateway that is armed meets the write at which it dies. */
const WRITES_WITHIN_MS = 10_000

/** Gateways and workers that end or stop, politely or not. */
export const processFaults: readonly Fault[] = [
  {
    name: 'gateway kill -9',
    part: 'gateways',
    onlyEnds: true,
    async inject({ gateways }, random) {
      const gateway = pickRunning(gateways, random)
      await gateway.kill()
      await delay(random.between(0, 1_500))
      await gateway.start()
    },
  },
  {
    name: 'gateway dies at a byte',
    part: 'gateways',
    onlyEnds: true,
    inject: (world, random) => dieAt(random.pick(['client', 'upstream']), world, random),
  },
  {
    name: 'gateway dies as the usage is out',
    part: 'gateways',
    onlyEnds: true,
    inject: (world, random) => dieAt('usage', world, random),
  },
  {
    name: 'gateway dies at a commit',
    part: 'gateways',
    onlyEnds: true,
    inject: (world, random) => dieAt('commit', world, random),
  },
  {
    name: 'kill -9 of one process of a cluster',
    part: 'gateways',
    onlyEnds: true,
    missing: ({ gateways }) =>
      gateways.some(({ processes }) => processes > 1) ? null : 'no gateway has several processes',
    inject: killOneOfCluster,
  },
  {
    name: 'one process of a cluster frozen',
    part: 'gateways',
    missing: ({ gateways }) =>
      gateways.some(({ processes }) => processes > 1) ? null : 'no gateway has several processes',
    async inject({ gateways }, random) {
      const clusters = gateways.filter(({ processes }) => processes > 1)
      const { pid } = random.pick(pickRunning(clusters, random).takers())
      sendSignal(pid, 'SIGSTOP')
      await delay(random.between(PROCESS_FROZEN_MIN_MS, PROCESS_FROZEN_MAX_MS))
      sendSignal(pid, 'SIGCONT')
    },
  },
  {
    name: 'gateway SIGTERM',
    part: 'gateways',
    async inject({ gateways }, random) {
      const gateway = pickRunning(gateways, random)
      await endPolitely(gateway)
      await gateway.start()
    },
  },
  {
    name: 'gateway stays dead',
    part: 'gateways',
    onlyEnds: true,
    async inject({ gateways }, random, watch) {
      const gateway = pickRunning(gateways, random)
      const killedMs = performance.now()
      await gateway.kill()
      const isOfIt = (trace: { gateway: string; beganMs: number }) =>
        trace.gateway === gateway.name && trace.beganMs <= killedMs
      while (!watch.haveAll(isOfIt) && performance.now() - killedMs < STAYS_DEAD_MS) await delay(100)
      await gateway.start()
    },
  },
  {
    name: 'number of shards changed',
    part: 'gateways',
    async inject({ gateways }, random) {
      const gateway = pickRunning(gateways, random)
      gateway.useShards(random.between(1, MOST_SHARDS))
      if (random.chance(0.5)) await gateway.kill()
      else await endPolitely(gateway)
      await gateway.start()
    },
  },
  {
    name: 'worker kill -9',
    part: 'workers',
    async inject({ workers }, random) {
      const worker = pickRunning(workers, random)
      await worker.kill()
      await delay(random.between(0, 3_000))
      await worker.start()
    },
  },
  {
    name: 'worker SIGTERM',
    part: 'workers',
    async inject({ workers }, random) {
      const worker = pickRunning(workers, random)
      await worker.stop(WORKER_GRACE_MS)
      await worker.start()
    },
  },
  {
    name: 'everything killed at once',
    part: 'gateways',
    alone: true,
    async inject({ gateways, workers, redis, postgres }) {
      await Promise.all([...gateways, ...workers, redis, postgres].map((process) => process.kill()))
      await Promise.all([redis, postgres].map((server) => server.start()))
      await Promise.all([...gateways, ...workers].map((child) => child.start()))
    },
  },
  {
    name: 'clock step',
    part: 'gateways',
    async inject({ gateways, workers }, random) {
      const running = random.shuffle([...gateways, ...workers].filter((child) => child.running))
      if (running.length === 0) throw new NotNow('no gateway is running')
      for (const child of running.slice(0, random.between(1, running.length))) stepClock(child)
      await delay(2_000)
    },
  },
  {
    name: 'worker frozen in a transaction',
    part: 'workers',
    async inject(world, random) {
      const worker = await freezeInTransaction(world, random)
      await delay(FROZEN_MS)
      worker.thaw()
    },
  },
  {
    // It goes on with what it had read, while another reads the same shards.
    name: 'worker stopped beyond its lease',
    part: 'workers',
    async inject({ workers }, random) {
      const worker = pickRunning(workers, random)
      worker.freeze()
      await delay(random.between(LEASE_LOST_MIN_MS, LEASE_LOST_MAX_MS))
      if (worker.running) worker.thaw()
    },
  },
]

async function killOneOfCluster(world: World, random: Random): Promise<void> {
  const cluster = pickRunning(
    world.gateways.filter(({ processes }) => processes > 1),
    random,
  )
  const killed = random.pick(cluster.takers())
  cluster.expectDeathOf(killed.pid)
  sendSignal(killed.pid, 'SIGKILL')
  await outliving([killed.pid], REPLACED_WITHIN_MS)
  await replaced(world, cluster, killed)
}

/** Right after a certain write of its own: see crash-point.ts. */
async function dieAt(point: CrashPoint, world: World, random: Random): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  const restartAfterMs = random.between(0, 1_500)
  const takers = gateway.takers()
  if (takers.length === 0) throw new NotNow('the gateway takes no calls')
  const taker = random.pick(takers)
  if (gateway.processes > 1) {
    gateway.expectDeathOf(taker.pid)
    const died = await diesOf(point, taker.pid)
    await replaced(world, gateway, taker)
    if (!died) throw new NotNow('the process of the cluster wrote nothing')
    return
  }
  const ended = gateway.expectEnd()
  const died = await diesOf(point, taker.pid)
  const how = await ended
  await delay(restartAfterMs)
  await gateway.start()
  if (how !== 'SIGKILL') throw new Error(`${gateway.name} ended otherwise: ${how}`)
  if (!died) throw new NotNow('the gateway wrote nothing')
}

/** Whether the process died of it by itself; false: it had to be killed. It is gone in any case. */
async function diesOf(point: CrashPoint, pid: number): Promise<boolean> {
  sendSignal(pid, CRASH_SIGNALS[point])
  if ((await outliving([pid], WRITES_WITHIN_MS)).length === 0) return true
  sendSignal(pid, 'SIGKILL')
  await outliving([pid], REPLACED_WITHIN_MS)
  return false
}

/** The primary starts another process, and one of the processes adopts the journal of the dead one. */
async function replaced({ gateways, journalDir }: World, cluster: Gateway, killed: Taker): Promise<void> {
  const until = performance.now() + REPLACED_WITHIN_MS
  while (cluster.takers().length < cluster.processes || (await cluster.refuses())) {
    if (performance.now() > until)
      throw new Error(`${cluster.name} has no process in place of ${killed.pid}: ${cluster.describe()}`)
    await delay(100)
  }
  const isOwned = (producer: string) =>
    !existsSync(join(journalDir, producer)) ||
    gateways.some((gateway) => gateway.takers().some(({ producers }) => producers.includes(producer)))
  while (!killed.producers.every(isOwned)) {
    if (performance.now() > until) throw new Error('no process adopted the journal of the one that died')
    await delay(100)
  }
}

/** The wall clock of it and of the processes that it started jumps by hours, on the same UTC day: see clock.ts. */
function stepClock({ pids }: Child): void {
  for (const pid of pids) sendSignal(pid, 'SIGWINCH')
}

/** By SIGTERM; one that does not end in time, and as it should, is a failure. */
export async function endPolitely(gateway: Gateway): Promise<void> {
  const how = await gateway.stop(GATEWAY_GRACE_MS)
  if (how !== 'exit code 0') throw new Error(`${gateway.name} ended with ${how} at SIGTERM`)
}

/** @throws NotNow where another fault has ended them all, or all but one */
export function pickRunning<T extends Child>(children: readonly T[], random: Random): T {
  const running = children.filter((child) => child.running)
  if (running.length < Math.min(2, children.length)) throw new NotNow('too few are running')
  return random.pick(running)
}

/** Stops workers at random moments until one of them has an open transaction while it stands still. */
async function freezeInTransaction({ workers, pool }: World, random: Random): Promise<Child> {
  for (let tries = 0; tries < FREEZE_TRIES; tries += 1) {
    const worker = pickRunning(workers, random)
    await delay(random.between(1, 15))
    if (!worker.running) continue
    worker.freeze()
    try {
      // What runs on its own ends within this time; what is open then waits for the worker.
      await delay(15)
      const { rows } = await pool.query<{ idle: string }>(
        `select count(*) as idle from pg_stat_activity
         where application_name = 'tallygate worker' and state like 'idle in transaction%'
           and state_change < now() - interval '10 ms'`,
      )
      if (rows[0]?.idle !== '0') return worker
    } catch {
      worker.thaw()
      throw new NotNow('Postgres does not answer')
    }
    worker.thaw()
  }
  throw new NotNow('no worker had a transaction open')
}
