import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { childrenOf } from '../../src/standalone/stand/child-processes.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { type ProcessUse, useOf } from '../stand/proc.ts'
import type { SoakRig } from './rig.ts'

/** One process, or all of one server. */
export interface ProcessReading {
  /** Memory that no other process shares is all that can leak: PostgreSQL's buffers are not in it. */
  readonly privateMb: number
  readonly rssMb: number
  readonly descriptors: number
  readonly cpu: ProcessUse | null
}

/** Everything at one moment. */
export interface Reading {
  /** Milliseconds of this process's monotonic clock. */
  readonly atMs: number
  /** Calls that had ended. */
  readonly calls: number
  readonly processes: ReadonlyMap<string, ProcessReading>
  readonly journalMb: number
  readonly redisUsedMb: number
  readonly streamEntries: number
  readonly databaseMb: number
  readonly callsTableMb: number
  readonly dailyUsageMb: number
  /** Of `daily_usage`. */
  readonly dailyRows: number
}

const BYTES_PER_MB = 1e6

export async function read(rig: SoakRig, redis: Redis, calls: number): Promise<Reading> {
  const processes = new Map<string, ProcessReading>()
  const [primary, ...members] = rig.gateway.pids
  const own = (name: string, pid: number | undefined) => {
    if (pid !== undefined) processes.set(name, readProcess([pid], useOf(pid)))
  }
  if (members.length === 0) own('gateway', primary)
  else if (primary !== undefined) processes.set('gateway, primary', readProcess([primary], null)) // its children have the work
  members.forEach((pid, index) => {
    own(`gateway, process ${index + 1}`, pid)
  })
  rig.workers.forEach((worker, index) => {
    own(`worker ${index + 1}`, worker.pid)
  })
  own('Redis', rig.stand.redis.pid)
  const server = rig.stand.postgres.pid
  processes.set('PostgreSQL', readProcess([server, ...childrenOf(server)], useOf(server)))
  return {
    atMs: performance.now(),
    calls,
    processes,
    journalMb: bytesUnder(rig.stand.journalDir) / BYTES_PER_MB,
    ...(await readRedis(redis, rig.streams)),
    ...(await readDatabase(rig)),
  }
}

function readProcess(pids: readonly number[], cpu: ProcessUse | null): ProcessReading {
  let privateKb = 0
  let rssKb = 0
  let descriptors = 0
  for (const pid of pids) {
    try {
      const memory = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      // Pages that came to be by a fork are shared for a while: each process has its part of them.
      privateKb += Number(/^Pss_Anon:\s+(\d+)/m.exec(memory)?.[1] ?? 0)
      rssKb += Number(/^Rss:\s+(\d+)/m.exec(memory)?.[1] ?? 0)
      descriptors += readdirSync(`/proc/${pid}/fd`).length
    } catch {} // it ended just now, as servers of one connection do
  }
  return {
    privateMb: (privateKb * 1024) / BYTES_PER_MB,
    rssMb: (rssKb * 1024) / BYTES_PER_MB,
    descriptors,
    cpu,
  }
}

/** That are in use on the disk, not the lengths of files. */
function bytesUnder(folder: string): number {
  let bytes = 0
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += bytesUnder(path)
    else bytes += (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512
  }
  return bytes
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // deleted meanwhile
  }
}

async function readRedis(redis: Redis, streams: readonly string[]) {
  const [memory, ...lengths] = await Promise.all([
    redis.info('memory'),
    ...streams.map((stream) => redis.xlen(stream)),
  ])
  return {
    redisUsedMb: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]) / BYTES_PER_MB,
    streamEntries: lengths.reduce((sum, length) => sum + length, 0),
  }
}

async function readDatabase({ stand: { pool } }: SoakRig) {
  const size = (table: string) =>
    `(select sum(pg_total_relation_size(relid)) from pg_partition_tree('tallygate.${table}'))`
  const { rows } = await pool.query<
    Record<'all_bytes' | 'calls_bytes' | 'daily_bytes' | 'daily_rows', string>
  >(
    `select pg_database_size(current_database()) as all_bytes, ${size('call_rows')} + pg_total_relation_size('tallygate.call_kinds') as calls_bytes,
       ${size('daily_usage')} as daily_bytes, (select count(*) from tallygate.daily_usage) as daily_rows`,
  )
  const mb = (bytes: string | undefined) => Number(bytes) / BYTES_PER_MB
  return {
    databaseMb: mb(rows[0]?.all_bytes),
    callsTableMb: mb(rows[0]?.calls_bytes),
    dailyUsageMb: mb(rows[0]?.daily_bytes),
    dailyRows: Number(rows[0]?.daily_rows),
  }
}
