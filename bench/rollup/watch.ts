import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { cpuBetween, type ProcessUse, useOf } from '../stand/proc.ts'

/** The processes that a roll-up consists of. */
export interface Watched {
  readonly workers: readonly number[]
  readonly postgres: number
  readonly redis: number
}

/** Everything at one moment. */
interface Reading {
  readonly atMs: number
  readonly left: number
  readonly cpu: readonly (ProcessUse | null)[]
  /** Main threads by process. */
  readonly main: ReadonlyMap<number, Schedule>
  /** The Postgres backends that workers have. */
  readonly backends: readonly number[]
  readonly walBytes: number
}

/** What a run of the roll-up took, from the end of its warm-up on. */
export interface RolledUpFigures {
  readonly entriesPerSecond: number
  readonly workerUs: number
  /** Of that, in the workers' main threads. */
  readonly workerMainUs: number
  readonly postgresUs: number
  /** Of that, in the workers' own backends. */
  readonly backendsUs: number
  readonly redisUs: number
  readonly walBytesPerEntry: number
  /** Share of samples of an open transaction of a worker in which it waited for a lock. */
  readonly lockWaits: number
  /** See `chainRateOf`; `null`: several workers. */
  readonly chainRate: number | null
}

/** How long a thread ran, and how long it waited for a core. */
interface Schedule {
  readonly ranMs: number
  readonly waitedMs: number
}

const SAMPLE_MS = 20
const STALLED_MS = 60_000

/**
 * Watches workers that have been started until the streams are empty.
 *
 * @param warmUp Entries of all workers together that do not count: the first ones meet code that is not compiled yet.
 *   Every further worker has that to do again, and an entry costs no more for it.
 */
export async function watchRollUp(
  pool: Postgres,
  redis: Redis,
  streams: readonly string[],
  { entries, warmUp }: { readonly entries: number; readonly warmUp: number },
  watched: Watched,
): Promise<RolledUpFigures> {
  const locks = { open: 0, waiting: 0 }
  let first: Reading | null = null
  let left = entries + warmUp
  let movedAtMs = performance.now()
  for (;;) {
    const sampled = await sampleTransactions(pool)
    const lengths = await Promise.all(streams.map((stream) => redis.xlen(stream)))
    const before = left
    left = lengths.reduce((sum, length) => sum + length, 0)
    if (left !== before) movedAtMs = performance.now()
    if (performance.now() - movedAtMs > STALLED_MS)
      throw new Error(`the roll-up stalled: ${left} entries left`)
    if (first !== null) {
      locks.open += sampled.length
      locks.waiting += sampled.filter(({ isWaiting }) => isWaiting).length
    }
    if (first === null && left <= entries) first = await read(pool, left, watched)
    if (left === 0) break
    await delay(SAMPLE_MS)
  }
  if (first === null) throw new Error('no entry was counted before all were')
  return figuresOf(first, await read(pool, 0, watched), locks, watched)
}

const OWN_TRANSACTIONS = `application_name = 'tallygate worker' and datname = current_database()`

async function sampleTransactions(pool: Postgres): Promise<readonly { readonly isWaiting: boolean }[]> {
  const { rows } = await pool.query<{ isWaiting: boolean }>(
    `select coalesce(wait_event_type = 'Lock', false) as "isWaiting" from pg_stat_activity
     where ${OWN_TRANSACTIONS} and xact_start is not null`,
  )
  return rows
}

async function read(pool: Postgres, left: number, { workers, postgres, redis }: Watched): Promise<Reading> {
  const { rows } = await pool.query<{ wal: string; pids: number[] }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as wal,
       array(select pid from pg_stat_activity where ${OWN_TRANSACTIONS}) as pids`,
  )
  const backends = rows[0]?.pids ?? []
  return {
    atMs: performance.now(),
    left,
    cpu: [workers, [postgres], [redis]].map(usedBy),
    main: new Map([...workers, ...backends, redis].map((pid) => [pid, scheduleOf(pid)])),
    backends,
    walBytes: Number(rows[0]?.wal),
  }
}

function usedBy(pids: readonly number[]): ProcessUse | null {
  const uses = pids.map(useOf)
  return uses.reduce(
    (sum, use) =>
      sum === null || use === null
        ? null
        : { livingUs: sum.livingUs + use.livingUs, accountedUs: sum.accountedUs + use.accountedUs },
    { livingUs: 0, accountedUs: 0 },
  )
}

/** Of the main thread: proc_pid_schedstat(5). */
function scheduleOf(pid: number): Schedule {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')
      .split(' ')
      .map(Number)
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6 }
  } catch {
    return NEVER_RAN // it is gone
  }
}

function figuresOf(
  first: Reading,
  last: Reading,
  locks: { readonly open: number; readonly waiting: number },
  watched: Watched,
): RolledUpFigures {
  const entries = first.left - last.left
  const us = (index: number) =>
    (cpuBetween(first.cpu[index] ?? null, last.cpu[index] ?? null) ?? Number.NaN) / entries
  const ranUs = (pids: readonly number[]) =>
    (pids.reduce((sum, pid) => sum + spentBy(pid, first, last).ranMs, 0) * 1000) / entries
  return {
    entriesPerSecond: (entries / (last.atMs - first.atMs)) * 1000,
    workerUs: us(0),
    workerMainUs: ranUs(watched.workers),
    postgresUs: us(1),
    backendsUs: ranUs(last.backends),
    redisUs: us(2),
    walBytesPerEntry: (last.walBytes - first.walBytes) / entries,
    lockWaits: locks.open === 0 ? 0 : locks.waiting / locks.open,
    chainRate: watched.workers.length === 1 ? chainRateOf(first, last, entries) : null,
  }
}

/**
 * What the rate were if each of worker, Postgres backends and Redis had a core of its own: the time that their main
 * threads waited for one is taken off. They work at the same time, and so may wait at the same time, which takes off
 * too much. So the rate is at most what the busiest of these threads could do alone.
 */
function chainRateOf(first: Reading, last: Reading, entries: number): number {
  const spent = [...last.main.keys()].map((pid) => spentBy(pid, first, last))
  const waitedMs = spent.reduce((sum, thread) => sum + thread.waitedMs, 0)
  const busiestMs = Math.max(...spent.map(({ ranMs }) => ranMs))
  return (entries / Math.max(last.atMs - first.atMs - waitedMs, busiestMs)) * 1000
}

function spentBy(pid: number, first: Reading, last: Reading): Schedule {
  const [before, after] = [first.main.get(pid) ?? NEVER_RAN, last.main.get(pid) ?? NEVER_RAN]
  return { ranMs: after.ranMs - before.ranMs, waitedMs: after.waitedMs - before.waitedMs }
}

const NEVER_RAN: Schedule = { ranMs: 0, waitedMs: 0 }
