import { existsSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { FRAME_HEADER_BYTES } from '../../../src/ledger/journal/segments/format/frames.ts'
import { gapsBetween } from '../../../src/rollup/drain/gap-check.ts'
import type { Random } from '../../../src/standalone/prove/random.ts'
import type { ExpectedGap } from '../allowances.ts'
import {
  awaitNamed,
  committedOffsetOf,
  type DeadProducer,
  entriesOf,
  withDeadJournals,
} from '../dead-gateway.ts'
import { contentOf, type JournalContent } from '../dead-journal.ts'
import {
  cutLog,
  type DeadSegment,
  framesOf,
  isWithin,
  type PlacedFrame,
  readSegments,
  syncedEnd,
  writeSegments,
} from '../dead-log.ts'
import { type Fault, NotNow } from '../fault.ts'
import type { World } from '../world.ts'
import { pickRunning } from './processes.ts'

/** So long Redis is out of reach, so that the dead journal has the only copy of some records. */
const BACKLOG_MS = 4_000
const BACKLOG_MIN_RECORDS = 12
const FRAMES_MAX = 3
/** Adoption every 5 s, the workers' patience with a gap, and what else is to be counted first. */
const NOTICED_WITHIN_MS = 90_000

/** What a damage left of a journal. */
interface Left {
  /** Nothing of it can be shipped: its folder is to be quarantined at once. */
  readonly quarantined: boolean
  /** Sequences that can still be read. */
  readonly sequences: ReadonlySet<number>
  /** Calls that were under way, and of which it cannot be read that they were. */
  readonly doubtful: readonly string[]
}

/** A dead producer and who else has what of it. */
interface Victim extends DeadProducer {
  readonly segments: readonly DeadSegment[]
  readonly frames: readonly PlacedFrame[]
  readonly whole: JournalContent
  readonly committedOffset: number
  /** Sequences that wait on a stream. */
  readonly waiting: ReadonlySet<number>
}

/** Does it; `null`, and nothing done, where the journal does not allow it. */
type Damage = (victim: Victim, random: Random) => Left | null

/**
 * Bytes changed where a dead gateway's journal had been synced. What exactly is lost by it is known here, to the
 * record: what neither the streams nor Postgres nor a frame that is whole has. Only of that may anything be missing.
 */
export const garbledJournalFaults: readonly Fault[] = [
  {
    name: 'journal frames corrupted',
    part: 'gateways',
    alone: true,
    inject: (world, random) => garble(world, random, [framesInTheMiddle]),
  },
  {
    name: 'journal segment lost',
    part: 'gateways',
    alone: true,
    inject: (world, random) => garble(world, random, [oneSegment]),
  },
  {
    name: 'journal beginning corrupted or end cut',
    part: 'gateways',
    alone: true,
    inject: (world, random) => garble(world, random, random.shuffle([beginnings, cutBeforeCommit])),
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
    for (const callId of left.doubtful) world.allowances.calls.add(callId)
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
  const segments = readSegments(dead.folder)
  const frames = framesOf(segments)
  const whole = contentOf(frames)
  // The streams first: what leaves them in between is under the committed offset.
  const waiting = new Set((await entriesOf(world, dead.producer)).map(({ sequence }) => sequence))
  const committedOffset = await committedOffsetOf(world, dead.producer)
  const isUnshipped = ({ sequence }: { sequence: number }) =>
    sequence > committedOffset && !waiting.has(sequence)
  return whole.records.filter(isUnshipped).length < BACKLOG_MIN_RECORDS
    ? null
    : { ...dead, segments, frames, whole, committedOffset, waiting }
}

/** Waits until the damage was found, and all that was not destroyed is counted, and what was is named. */
async function noticed(
  world: World,
  { producer, folder, quarantined, countedTo, gaps }: Loss,
): Promise<void> {
  // One that is of use is quarantined in the end, long after its gaps were recorded.
  const isKept = () => !quarantined || existsSync(`${folder}.corrupt`)
  const until = performance.now() + NOTICED_WITHIN_MS
  while (!isKept() || (await committedOffsetOf(world, producer)) < countedTo) {
    if (performance.now() > until)
      throw new Error(`a damaged journal was ${isKept() ? 'not counted' : 'not noticed'}: ${producer}`)
    await delay(250)
  }
  await awaitNamed(world, gaps)
}

/**
 * Some frames in a row, one of them with the only copy of a record, and a later one that tells its number: a gap. And a
 * record that was counted: its call may not be taken for one that is still under way.
 */
function framesInTheMiddle(victim: Victim, random: Random): Left | null {
  const { segments, frames, committedOffset, waiting } = victim
  const synced = syncedEnd(frames, 0)
  const isNowhereElse = (sequence: number) => sequence > committedOffset && !waiting.has(sequence)
  const candidates = frames.flatMap((frame, index) =>
    frame.kind === 'close' && isNowhereElse(frame.sequence) && isWithin(frame, synced) ? [index] : [],
  )
  // The newest of them is left: what comes behind is known to be there.
  const from = candidates.slice(0, -1)
  if (from.length === 0) return null
  const first = random.pick(from)
  const newest = frames[candidates.at(-1) ?? 0]
  const run = frames
    .slice(first, first + random.between(1, FRAMES_MAX))
    .filter(
      (frame) => frame !== newest && frame.segment === frames[first]?.segment && frame.kind !== 'synced',
    )
  const counted = frames.filter((frame) => frame.kind === 'close' && frame.sequence <= committedOffset)
  const gone = counted.length === 0 ? run : [...run, random.pick(counted)]
  for (const { segment, at, end } of gone) {
    const bytes = segments.find(({ number }) => number === segment)?.bytes
    // The header stays: without it, what was synced could be taken for what power loss tore.
    if (bytes !== undefined) fillWithNoise(bytes, at + FRAME_HEADER_BYTES, end, random)
  }
  writeSegments(segments)
  return without(victim, new Set(gone))
}

/** A segment with the only copy of some records, of which the newest ones stand in later segments. */
function oneSegment(victim: Victim, random: Random): Left | null {
  const { segments, frames, committedOffset, waiting } = victim
  const isNowhereElse = (frame: PlacedFrame) =>
    frame.kind === 'close' && frame.sequence > committedOffset && !waiting.has(frame.sequence)
  const newest = frames.findLast((frame) => frame.kind === 'close')
  const { segment: last } = syncedEnd(frames, 0)
  const candidates = segments.filter(
    ({ number }) =>
      number < Math.min(newest?.segment ?? 0, last) &&
      frames.some((frame) => frame.segment === number && isNowhereElse(frame)),
  )
  if (candidates.length === 0) return null
  const { number, path } = random.pick(candidates)
  rmSync(path)
  return without(victim, new Set(frames.filter(({ segment }) => segment === number)))
}

/** What is left without some frames. Calls that were last mentioned before them may have ended in them. */
function without({ whole, frames }: Victim, gone: ReadonlySet<PlacedFrame>): Left {
  const left = contentOf(frames.filter((frame) => !gone.has(frame)))
  const there = new Set(left.records.map(({ sequence }) => sequence))
  const sequences = whole.records.map(({ sequence }) => sequence).filter((sequence) => there.has(sequence))
  const behind = contentOf(frames.slice(frames.findLastIndex((frame) => gone.has(frame)) + 1)).open
  const doubtful = whole.open.filter((callId) => !behind.includes(callId))
  return { quarantined: false, sequences: new Set(sequences), doubtful }
}

/** The first frame of every segment: without one it is not known what the others are. */
function beginnings({ segments, frames, whole }: Victim, random: Random): Left {
  for (const { segment, end } of frames.filter(({ kind }) => kind === 'begin')) {
    const bytes = segments.find(({ number }) => number === segment)?.bytes
    if (bytes !== undefined) fillWithNoise(bytes, 0, end, random)
  }
  // Beginnings that are not part of the log would be read in their place.
  for (const { bytes } of segments) fillWithNoise(bytes, 0, FRAME_HEADER_BYTES, random)
  writeSegments(segments)
  return { quarantined: true, sequences: new Set(), doubtful: whole.open }
}

/** The log ends at or before what was counted, as a copy of it that was restored would. */
function cutBeforeCommit(
  { folder, segments, frames, whole, committedOffset }: Victim,
  random: Random,
): Left | null {
  const counted = frames.filter((frame) => frame.kind === 'close' && frame.sequence <= committedOffset)
  if (counted.length === 0) return null
  const { segment, at } = random.pick(counted)
  cutLog(folder, segments, { segment, position: at })
  return { quarantined: true, sequences: new Set(), doubtful: whole.open }
}

/** Without zeros and without what a frame begins with: no reader takes it for torn, or for a frame. */
function fillWithNoise(bytes: Buffer, from: number, to: number, random: Random): void {
  for (let at = from; at < to; at += 1) bytes.writeUInt8(random.between(1, 250), at)
}
