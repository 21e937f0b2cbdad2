import { execFile } from 'node:child_process'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Redis } from 'ioredis'
import { takeAliveLock } from '../../../src/ledger/alive-lock.ts'
import { holesBetween } from '../../../workers/hole-watch.ts'
import type { ExpectedGap } from '../allowances.ts'
import {
  commitEnds,
  type JournalContent,
  producersOpenIn,
  readJournal,
  readWal,
  WAL_FILE,
} from '../dead-journal.ts'
import { type Fault, NotNow } from '../fault.ts'
import type { Random } from '../random.ts'
import type { Gateway, World } from '../world.ts'
import { pickRunning } from './processes.ts'
import { withRedis } from './redis.ts'

const run = promisify(execFile)
const FULL_MS = 4_000
/** From room on the disk to calls taken again: the journal tries every 10 s at most. */
const RECOVERS_WITHIN_MS = 25_000
/** What a gateway had sent when it was killed is in the stream by then. */
const IN_FLIGHT_MS = 200
/** The workers' patience, twice, and their looks. */
const NAMED_WITHIN_MS = 45_000
const WORKERS_FROZEN_MS = 2_000
const CLOCK_JUMP_MS = 60_000

/** Disks that are full, lose what was not synced, or lose everything. */
export const journalFaults: readonly Fault[] = [
  {
    name: 'journal disk full',
    part: 'gateways',
    alone: false,
    async inject({ gateways, journalDir }, random) {
      const gateway = pickRunning(gateways, random)
      const { pid } = gateway
      const bytes = Math.max(
        0,
        ...producersOpenIn(pid, journalDir).map(
          (producer) => statSync(join(journalDir, producer, WAL_FILE)).size,
        ),
      )
      await limitFiles(pid, `${bytes}`)
      await delay(FULL_MS)
      await limitFiles(pid, 'unlimited')
      const until = performance.now() + RECOVERS_WITHIN_MS
      while (!(await isReady(gateway))) {
        if (performance.now() > until) throw new Error(`${gateway.name} takes no calls with room on its disk`)
        await delay(100)
      }
    },
  },
  losesWalTail('power loss', (wal, synced) => wal.subarray(0, synced)),
  losesWalTail('journal tail torn', (wal, synced, end, random) =>
    wal.subarray(0, random.between(synced, end)),
  ),
  losesWalTail('journal tail corrupted', (wal, synced, end, random) => {
    const corrupted = Buffer.from(wal)
    const at = random.between(synced, Math.max(synced, end - 64))
    for (let byte = at; byte < Math.min(at + 64, end); byte += 1) corrupted[byte] = random.below(256)
    return corrupted
  }),
  {
    name: 'journal deleted',
    part: 'gateways',
    alone: true,
    inject: deleteJournal,
  },
]

/** A limit of this process alone, which it meets as a disk that refuses. Linux. */
async function limitFiles(pid: number, bytes: string): Promise<void> {
  try {
    await run('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:`])
  } catch {
    throw new NotNow('no prlimit here, or the gateway is gone')
  }
}

async function isReady({ port }: Gateway): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/readyz`).then(
    (answer) => answer.ok,
    () => false,
  )
}

/**
 * The gateway's host loses power, and of what was written since the last sync only `change` is left. How far that sync
 * went cannot be seen from outside: nothing is shipped before it is synced, so the end of what was shipped is taken
 * for it, which loses no less than a real power loss would.
 */
function losesWalTail(
  name: string,
  change: (wal: Buffer, synced: number, end: number, random: Random) => Buffer,
): Fault {
  return {
    name,
    part: 'gateways',
    alone: true,
    async inject(world, random) {
      const gateway = pickRunning(world.gateways, random)
      await withDeadJournals(world, gateway, async (producer, folder, killedAtMs) => {
        const wal = readWal(folder)
        if (wal.length === 0) return
        const shipped = await shippedOf(world, producer)
        const ends = commitEnds(wal)
        const read = (bytes: Buffer) => readJournal(folder, bytes, (path) => writeFileSync(path, bytes))
        const whole = read(wal)
        const synced = firstEndWith(ends, (end) => read(wal.subarray(0, end)).last >= shipped)
        const left = change(wal, synced, ends.at(-1) ?? synced, random)
        allowLoss(world, whole, read(left).last, killedAtMs)
        writeFileSync(join(folder, WAL_FILE), left)
      })
      await gateway.start()
    },
  }
}

/** Records beyond `last`, and calls under way, may be gone. */
function allowLoss({ allowances }: World, whole: JournalContent, last: number, lostAtMs: number): void {
  for (const { sequence, callId, endedAtMs } of whole.records) {
    if (sequence <= last) continue
    allowances.calls.add(callId)
    const ageMs = lostAtMs - endedAtMs
    // More is a gateway whose clock was made to jump.
    if (ageMs < CLOCK_JUMP_MS) allowances.oldestUnsyncedMs = Math.max(allowances.oldestUnsyncedMs, ageMs)
  }
  for (const callId of whole.open) allowances.calls.add(callId)
}

/** The first of the ascending `ends` for which it holds; the last one, where it holds for none before. */
function firstEndWith(ends: readonly number[], holds: (end: number) => boolean): number {
  let [from, to] = [0, ends.length - 1]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    if (holds(ends[middle] ?? 0)) to = middle
    else from = middle + 1
  }
  return ends[from] ?? 0
}

/**
 * With the workers standing still: the gateway dies, its journal is gone, and so are some of its entries in the stream.
 * What it had not shipped is lost without a name, as nobody knows that it was; the hole in what it had shipped is to be
 * named to the number, and what lies behind the hole counted.
 */
async function deleteJournal(world: World, random: Random): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  const workers = world.workers.filter((worker) => worker.running)
  const expected: ExpectedGap[] = []
  for (const worker of workers) worker.freeze()
  try {
    await delay(WORKERS_FROZEN_MS)
    await withDeadJournals(world, gateway, async (producer, folder) => {
      const entries = await entriesOf(world, producer)
      // The ones taken are beyond what a worker may have read before it froze.
      if (entries.length < 12) return
      const wal = readWal(folder)
      const whole = readJournal(folder, wal, (path) => writeFileSync(path, wal))
      const taken = entries.slice(-random.between(4, 6), -random.between(1, 3))
      if (taken.length === 0) return
      await withRedis(world, (redis) => removeEntries(redis, taken))
      const left = entries.filter((entry) => !taken.includes(entry)).map(({ sequence }) => sequence)
      const mark = await markOf(world, producer)
      // Also what Redis had lost before, and its producer had not sent again yet.
      const gone = whole.records.filter(({ sequence }) => sequence > mark && !left.includes(sequence))
      for (const callId of [...gone.map((record) => record.callId), ...whole.open])
        world.allowances.calls.add(callId)
      const ranges = left.map((sequence) => ({ from: sequence, to: sequence }))
      for (const hole of holesBetween(mark, ranges)) expected.push({ producer, ...hole })
      rmSync(folder, { recursive: true })
    })
    if (expected.length === 0) throw new NotNow('no producer had enough on the stream')
  } finally {
    world.allowances.gaps.push(...expected)
    for (const worker of workers) worker.thaw()
    await gateway.start()
  }
  // What waits behind the hole is on the stream only: a Redis that forgot now would take it along, as two faults may.
  const until = performance.now() + NAMED_WITHIN_MS
  while (!(await areNamed(world, expected))) {
    if (performance.now() > until) throw new Error(`holes that were not named: ${JSON.stringify(expected)}`)
    await delay(250)
  }
}

async function areNamed({ pool }: World, holes: readonly ExpectedGap[]): Promise<boolean> {
  const { rows } = await pool.query<Record<'producer' | 'from_seq' | 'to_seq', string>>(
    'select producer, from_seq, to_seq from tallygate.ledger_gaps where filled_at is null',
  )
  const named = new Set(rows.map(({ producer, from_seq, to_seq }) => `${producer} ${from_seq}-${to_seq}`))
  return holes.every(({ producer, from, to }) => named.has(`${producer} ${from}-${to}`))
}

/** Kills the gateway and shows the journals it had, while their locks keep adopters out. */
async function withDeadJournals(
  { journalDir }: World,
  gateway: Gateway,
  work: (producer: string, folder: string, killedAtMs: number) => Promise<void>,
): Promise<void> {
  const producers = producersOpenIn(gateway.pid, journalDir)
  const killedAtMs = Date.now()
  await gateway.kill()
  const held = producers.flatMap((producer) => {
    const folder = join(journalDir, producer)
    if (!existsSync(folder)) return [] // adopted, counted and deleted
    const lock = takeAliveLock(folder)
    return lock === null ? [] : [{ producer, folder, lock }]
  })
  try {
    await delay(IN_FLIGHT_MS)
    for (const { producer, folder } of held) await work(producer, folder, killedAtMs)
  } finally {
    for (const { lock } of held) lock.release()
  }
}

interface Waiting {
  readonly stream: string
  readonly id: string
  readonly sequence: number
}

/** The producer's entries on the stream, in order. */
async function entriesOf(world: World, producer: string): Promise<Waiting[]> {
  const streams = await withRedis(world, (redis) =>
    Promise.all(
      world.streams.map(async (stream) => ({ stream, entries: await redis.xrange(stream, '-', '+') })),
    ),
  )
  return streams
    .flatMap(({ stream, entries }) =>
      entries.map(([id, fields]) => ({ stream, id, fields: fieldsOf(fields) })),
    )
    .filter(({ fields }) => fields.get('p') === producer)
    .map(({ stream, id, fields }) => ({ stream, id, sequence: Number(fields.get('s')) }))
    .sort((left, right) => left.sequence - right.sequence)
}

async function removeEntries(redis: Redis, entries: readonly Waiting[]): Promise<void> {
  for (const { stream, id } of entries) await redis.xdel(stream, id)
}

function fieldsOf(fields: readonly string[]): ReadonlyMap<string, string> {
  const byName = new Map<string, string>()
  for (let at = 0; at + 1 < fields.length; at += 2) byName.set(fields[at] ?? '', fields[at + 1] ?? '')
  return byName
}

/** The highest of the producer's sequences that anybody beside its journal has seen. */
async function shippedOf(world: World, producer: string): Promise<number> {
  const entries = await entriesOf(world, producer)
  return Math.max(await markOf(world, producer), entries.at(-1)?.sequence ?? 0)
}

async function markOf({ pool }: World, producer: string): Promise<number> {
  const { rows } = await pool
    .query<{ mark: string }>('select mark from tallygate.producers where id = $1', [producer])
    .catch((error) => {
      throw new NotNow(`Postgres: ${error}`)
    })
  return Number(rows[0]?.mark ?? 0)
}
