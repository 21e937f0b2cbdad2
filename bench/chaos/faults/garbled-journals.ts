import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DAMAGED_FILE, JOURNAL_FILE } from '../../../src/ledger/journal/sqlite/journal-files.ts'
import { gapsBetween } from '../../../src/rollup/gap-check.ts'
import type { ExpectedGap } from '../allowances.ts'
import {
  awaitNamed,
  committedOffsetOf,
  type DeadProducer,
  entriesOf,
  withDeadJournals,
} from '../dead-gateway.ts'
import { type JournalContent, readJournal, tryReadJournal } from '../dead-journal.ts'
import { type Fault, NotNow } from '../fault.ts'
import { checkpointDead, type LeafPage, leafPagesOfCalls, PAGE_BYTES, writePage } from '../journal-pages.ts'
import type { Random } from '../random.ts'
import { commitEnds, firstEndWith, readWal, WAL_FILE } from '../wal-file.ts'
import type { World } from '../world.ts'
import { pickRunning } from './processes.ts'

/** So long Redis is out of reach, so that the dead journal has the only copy of some records. */
const BACKLOG_MS = 4_000
const BACKLOG_MIN_RECORDS = 12
const PAGES_MAX = 3
const WAL_BEGINNING_BYTES = 256
/** Adoption every 5 s, the workers' patience with a gap, and what else is to be counted first. */
const NOTICED_WITHIN_MS = 90_000

/** What a damage left of a journal. */
interface Left {
  /** Nothing of it can be shipped: its folder is to be quarantined at once. */
  readonly quarantined: boolean
  /** Sequences that can still be read. */
  readonly sequences: ReadonlySet<number>
  /** Calls under way can still be read. */
  readonly openCalls: boolean
}

/** A dead producer and who else has what of it. */
interface Victim extends DeadProducer {
  readonly whole: JournalContent
  readonly committedOffset: number
  /** Sequences that wait on a stream. */
  readonly waiting: ReadonlySet<number>
}

/** Does it; `null`, and nothing done, where the journal does not allow it. */
type Damage = (victim: Victim, random: Random) => Left | null

/**
 * Bytes changed where a dead gateway's journal had been synced. What exactly is lost by it is known here, to the
 * record: what neither the streams nor Postgres nor a page that is whole has. Only of that may anything be missing.
 */
export const garbledJournalFaults: readonly Fault[] = [
  {
    name: 'journal page corrupted',
    part: 'gateways',
    alone: true,
    inject: (world, random) => garble(world, random, [pagesInTheMiddle]),
  },
  {
    name: 'journal header or end corrupted',
    part: 'gateways',
    alone: true,
    inject: (world, random) => garble(world, random, random.shuffle([header, lastPage, walBeforeCommit])),
  },
]

async function garble(world: World, random: Random, damages: readonly Damage[]): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  let loss: Loss | null
  world.proxies.redis.stall()
  try {
    await delay(BACKLOG_MS)
    loss = await withDeadJournals(world, gateway, async (dead) => {
      reconnect(world) // what the dead had under way is gone with its connections
      return await damageOne(world, random.shuffle(dead), (victim) => {
        for (const damage of damages) {
          const left = damage(victim, random)
          if (left !== null) return left
        }
        return null
      })
    })
  } finally {
    reconnect(world)
    await gateway.start()
  }
  if (loss === null) throw new NotNow('no journal had enough that was nowhere else')
  await noticed(world, loss)
}

function reconnect({ proxies: { redis } }: World): void {
  redis.cut(1, () => 0)
  redis.resume()
}

/** What has to come of a damage. */
interface Loss {
  readonly folder: string
  readonly producer: string
  readonly quarantined: boolean
  /** The producer's committed offset in the end, at least. */
  readonly countedTo: number
  readonly gaps: readonly ExpectedGap[]
}

/** Damages the first that can be, and allows what that destroyed, to the record. */
async function damageOne(
  world: World,
  dead: readonly DeadProducer[],
  damage: (victim: Victim) => Left | null,
): Promise<Loss | null> {
  for (const one of dead) {
    const victim = await inspectVictim(world, one)
    const left = victim === null ? null : damage(victim)
    if (victim === null || left === null) continue
    const { producer, folder, whole, committedOffset, waiting } = victim
    const isSomewhere = (sequence: number) =>
      sequence <= committedOffset ||
      waiting.has(sequence) ||
      (!left.quarantined && left.sequences.has(sequence))
    const gone = whole.records.filter(({ sequence }) => !isSomewhere(sequence))
    for (const { callId } of gone) world.allowances.calls.add(callId)
    if (!left.openCalls) for (const callId of whole.open) world.allowances.calls.add(callId)
    const survivors = [...waiting, ...(left.quarantined ? [] : left.sequences)].filter(
      (at) => at > committedOffset,
    )
    const ranges = survivors.sort((a, b) => a - b).map((at) => ({ from: at, to: at }))
    const reason = left.quarantined ? 'producer_lost' : 'journal_corrupt'
    const gaps = gapsBetween(committedOffset, ranges).map((gap) => ({ producer, ...gap, reason }))
    world.allowances.gaps.push(...gaps)
    return {
      producer,
      folder,
      quarantined: left.quarantined,
      countedTo: survivors.at(-1) ?? committedOffset,
      gaps,
    }
  }
  return null
}

/** `null`: too little of it is nowhere else. */
async function inspectVictim(world: World, dead: DeadProducer): Promise<Victim | null> {
  const wal = readWal(dead.folder)
  const whole = readJournal(dead.folder, wal, (path) => writeFileSync(path, wal))
  // The streams first: what leaves them in between is under the committed offset.
  const waiting = new Set((await entriesOf(world, dead.producer)).map(({ sequence }) => sequence))
  const committedOffset = await committedOffsetOf(world, dead.producer)
  const isUnshipped = ({ sequence }: { sequence: number }) =>
    sequence > committedOffset && !waiting.has(sequence)
  return whole.records.filter(isUnshipped).length < BACKLOG_MIN_RECORDS
    ? null
    : { ...dead, whole, committedOffset, waiting }
}

/** Waits until the damage was found, and all that was not destroyed is counted, and what was is named. */
async function noticed(
  world: World,
  { producer, folder, quarantined, countedTo, gaps }: Loss,
): Promise<void> {
  const isKept = () =>
    existsSync(`${folder}.corrupt`) || (!quarantined && existsSync(join(folder, DAMAGED_FILE)))
  const until = performance.now() + NOTICED_WITHIN_MS
  while (!isKept() || (await committedOffsetOf(world, producer)) < countedTo) {
    if (performance.now() > until)
      throw new Error(`a damaged journal was ${isKept() ? 'not counted' : 'not noticed'}: ${producer}`)
    await delay(250)
  }
  await awaitNamed(world, gaps)
}

/** Some pages of `calls`, one after the other, one of them with the only copy of some records: a gap with a reason. */
function pagesInTheMiddle({ folder, whole, committedOffset, waiting }: Victim, random: Random): Left | null {
  const path = join(folder, JOURNAL_FILE)
  checkpointDead(path)
  const pages = leafPagesOfCalls(path).slice(0, -1)
  const isNowhereElse = (sequence: number) => sequence > committedOffset && !waiting.has(sequence)
  const candidates = pages.flatMap(({ sequences }, index) => (sequences.some(isNowhereElse) ? [index] : []))
  if (candidates.length === 0) return null
  const from = random.pick(candidates)
  return withoutPages(path, whole, pages.slice(from, from + random.between(1, PAGES_MAX)), random)
}

/** The last page of `calls`: which numbers were used, and what the open calls became, can no longer be known. */
function lastPage({ folder, whole, committedOffset }: Victim, random: Random): Left | null {
  const path = join(folder, JOURNAL_FILE)
  checkpointDead(path)
  const pages = leafPagesOfCalls(path)
  if (pages.length < 2) return null
  const left = withoutPages(path, whole, pages.slice(-1), random)
  return { ...left, openCalls: false, quarantined: Math.max(...left.sequences) < committedOffset }
}

function withoutPages(path: string, whole: JournalContent, pages: readonly LeafPage[], random: Random): Left {
  for (const { number } of pages) writePage(path, number, noise(PAGE_BYTES, random))
  const gone = new Set(pages.flatMap((page) => page.sequences))
  const sequences = whole.records.map((record) => record.sequence).filter((at) => !gone.has(at))
  return { quarantined: false, sequences: new Set(sequences), openCalls: true }
}

/** The database's first page: without it none can be read. */
function header({ folder }: Victim, random: Random): Left {
  const path = join(folder, JOURNAL_FILE)
  checkpointDead(path)
  writePage(path, 1, noise(PAGE_BYTES, random))
  return { quarantined: true, sequences: new Set(), openCalls: false }
}

/**
 * The WAL is cut at or before what has been counted, so that SQLite recovers less than the committed offset.
 * A cut beyond it could bring back a call as open whose record has been shipped, which is the one case that
 * may count twice.
 */
function walBeforeCommit({ folder, committedOffset }: Victim, random: Random): Left | null {
  const wal = readWal(folder)
  const isBehind = (bytes: Buffer) =>
    (tryReadJournal(folder, bytes, (path) => writeFileSync(path, bytes))?.last ?? committedOffset) <
    committedOffset
  if (!isBehind(Buffer.alloc(0))) return null
  const counted = firstEndWith(commitEnds(wal), (end) => !isBehind(wal.subarray(0, end)))
  const atBeginning = random.chance(0.5)
  const at = random.below(atBeginning ? Math.min(WAL_BEGINNING_BYTES, counted) : counted)
  const garbled = Buffer.from(wal)
  garbled.writeUInt8(garbled.readUInt8(at) ^ random.between(1, 255), at)
  if (!isBehind(garbled)) return null // a byte that SQLite does not use
  writeFileSync(join(folder, WAL_FILE), garbled)
  return { quarantined: true, sequences: new Set(), openCalls: false }
}

/** That no page of a table begins with. */
function noise(bytes: number, random: Random): Buffer {
  const noisy = Buffer.from(Array.from({ length: bytes }, () => random.below(256)))
  noisy.writeUInt8(0xa5, 0)
  return noisy
}
