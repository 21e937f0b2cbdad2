import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { LogPosition } from '../../../src/ledger/journal/segments/format/frames.ts'
import { gapsBetween } from '../../../src/rollup/drain/gap-check.ts'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import type { Random } from '../../../src/standalone/prove/random.ts'
import type { ExpectedGap } from '../allowances.ts'
import { awaitNamed, committedOffsetOf, entriesOf, removeEntries, withDeadJournals } from '../dead-gateway.ts'
import { contentOf, type JournalContent } from '../dead-journal.ts'
import {
  cutLog,
  type DeadSegment,
  framesOf,
  isWithin,
  readSegments,
  syncedEnd,
  tailOf,
  writeSegments,
} from '../dead-log.ts'
import { type Fault, NotNow } from '../fault.ts'
import { withFrozenWorkers } from '../frozen-workers.ts'
import type { Gateway } from '../gateway.ts'
import { SYNC_SIGNALS } from '../gateway-signals.ts'
import { dropSyncedEnds, knownEnd } from '../synced-ends.ts'
import { withRedis } from '../with-redis.ts'
import type { World } from '../world.ts'
import { pickRunning } from './processes.ts'

const WORKERS_FROZEN_MS = 2_000
const CLOCK_JUMP_MS = 60_000
/** Of syncs of up to a second each. */
const SLOW_MIN_MS = 1_500
const SLOW_MAX_MS = 4_000
const KNOWN_WITHIN_MS = 10_000

const SECTOR_BYTES = 512

/** Disks that lose what was not synced, or lose everything. */
export const journalFaults: readonly Fault[] = [
  losesTail('power loss', (folder, segments, synced) => cutLog(folder, segments, synced)),
  losesTail('journal tail torn', (folder, segments, synced, random) => {
    const { segment, from } = random.pick(tailOf(segments, synced))
    cutLog(folder, segments, {
      segment: segment.number,
      position: random.between(from, segment.bytes.length - 1),
    })
  }),
  losesTail('journal tail corrupted', garbleTail),
  {
    name: 'power loss under a slow disk',
    part: 'gateways',
    alone: true,
    inject: (world, random) => losePowerUnderSlowDisk(world, random, cutLog),
  },
  {
    name: 'journal writes reordered',
    part: 'gateways',
    alone: true,
    inject: (world, random) =>
      losePowerUnderSlowDisk(world, random, (_, segments, synced) =>
        writeSegments(unwritten(segments, synced, random)),
      ),
  },
  {
    name: 'journal deleted',
    part: 'gateways',
    alone: true,
    inject: deleteJournal,
  },
]

/**
 * The gateway's host loses power, and of what was written since the last sync only `change` is left. How far
 * that sync went cannot be seen from outside: what the log says of itself, and the end of what was shipped, are
 * taken for it. That loses no less than a real power loss would.
 */
function losesTail(
  name: string,
  change: (folder: string, segments: readonly DeadSegment[], synced: LogPosition, random: Random) => void,
): Fault {
  return {
    name,
    part: 'gateways',
    alone: true,
    async inject(world, random) {
      const gateway = pickRunning(world.gateways, random)
      let changed = 0
      try {
        await withDeadJournals(world, gateway, async (dead) => {
          for (const { producer, folder, killedAtMs } of dead) {
            const segments = readSegments(folder)
            const frames = framesOf(segments)
            const synced = syncedEnd(frames, await shippedOf(world, producer))
            if (tailOf(segments, synced).length === 0) continue
            const whole = contentOf(frames)
            const { last } = contentOf(frames.filter((frame) => isWithin(frame, synced)))
            allowLoss(world, whole, last)
            recordAge(world, whole, last, killedAtMs)
            change(folder, segments, synced, random)
            changed += 1
          }
        })
      } finally {
        await gateway.start()
      }
      if (changed === 0) throw new NotNow('everything that was written had been synced')
    },
  }
}

/** Some sectors behind what was synced were never written, though later ones were. */
function unwritten(segments: readonly DeadSegment[], synced: LogPosition, random: Random): DeadSegment[] {
  return tailOf(segments, synced).map(({ segment, from }) => {
    const bytes = Buffer.from(segment.bytes)
    const first = from - (from % SECTOR_BYTES)
    const sectors = Math.ceil((bytes.length - first) / SECTOR_BYTES)
    const always = random.below(sectors)
    for (let sector = 0; sector < sectors; sector += 1) {
      const at = first + sector * SECTOR_BYTES
      if (sector === always || random.chance(0.3))
        bytes.fill(0, Math.max(at, from), Math.min(at + SECTOR_BYTES, bytes.length))
    }
    return { ...segment, bytes }
  })
}

/** Noise in the place of all that was not synced: what was numbered there is unknown. */
function garbleTail(
  folder: string,
  segments: readonly DeadSegment[],
  synced: LogPosition,
  random: Random,
): void {
  const [first] = tailOf(segments, synced)
  if (first === undefined) return
  const { segment, from } = first
  cutLog(folder, segments, { segment: segment.number, position: segment.bytes.length })
  for (let at = from; at < segment.bytes.length; at += 1) segment.bytes[at] = random.between(1, 250)
  writeSegments([segment])
}

/**
 * As {@link losesTail}, with syncs that take up to a second and record how far they went. What was written
 * after that is gone, to the byte, or some sectors of it are. No other copy of it may exist.
 */
async function losePowerUnderSlowDisk(
  world: World,
  random: Random,
  lose: (folder: string, segments: readonly DeadSegment[], synced: LogPosition) => void,
): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  let changed = 0
  try {
    dropSyncedEnds(world.recordFolder)
    for (const { pid } of gateway.takers()) sendSignal(pid, SYNC_SIGNALS.slow)
    await delay(random.between(SLOW_MIN_MS, SLOW_MAX_MS))
    await knownOfOne(world, gateway)
    await withDeadJournals(world, gateway, async (dead) => {
      for (const { producer, folder } of dead) {
        const segments = readSegments(folder)
        const frames = framesOf(segments)
        const synced = knownEnd(world.recordFolder, producer)
        if (synced === null || tailOf(segments, synced).length === 0) continue
        const { last } = contentOf(frames.filter((frame) => isWithin(frame, synced)))
        const shipped = await shippedOf(world, producer)
        if (shipped > last)
          throw new Error(`${producer} had shipped ${shipped} when its disk had no more than ${last}`)
        allowLoss(world, contentOf(frames), last)
        lose(folder, segments, synced)
        changed += 1
      }
    })
  } finally {
    // A new one, with a disk as fast as ever.
    await gateway.kill()
    await gateway.start()
  }
  if (changed === 0) throw new NotNow('everything that was written had been synced')
}

/** Waits for a moment in which it is known of a journal of the gateway how far it is synced. */
async function knownOfOne(world: World, gateway: Gateway): Promise<void> {
  const until = performance.now() + KNOWN_WITHIN_MS
  const isKnown = (producer: string) => knownEnd(world.recordFolder, producer) !== null
  while (!gateway.takers().some(({ producers }) => producers.some(isKnown))) {
    if (performance.now() > until) throw new NotNow('no journal was synced')
    await delay(20)
  }
}

/** Records beyond `last`, and calls under way, may be gone. */
function allowLoss({ allowances }: World, whole: JournalContent, last: number): void {
  for (const { sequence, callId } of whole.records) if (sequence > last) allowances.calls.add(callId)
  for (const callId of whole.open) allowances.calls.add(callId)
}

/** How old the oldest of the records beyond `last` was. */
function recordAge({ allowances }: World, whole: JournalContent, last: number, lostAtMs: number): void {
  for (const { sequence, endedAtMs } of whole.records) {
    const ageMs = lostAtMs - endedAtMs
    // More is a gateway whose clock was made to jump.
    if (sequence > last && ageMs < CLOCK_JUMP_MS)
      allowances.oldestUnshippedMs = Math.max(allowances.oldestUnshippedMs, ageMs)
  }
}

/**
 * While the workers are stopped, the gateway dies, its journal is deleted, and some of its entries leave the
 * stream. What it had not shipped is lost without a record, as no other process knew of it. The gap in what
 * it had shipped has to be recorded to the number, and the records behind the gap counted.
 */
async function deleteJournal(world: World, random: Random): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  const expected: ExpectedGap[] = []
  try {
    await withFrozenWorkers(world, async () => {
      await delay(WORKERS_FROZEN_MS)
      await withDeadJournals(world, gateway, async (dead) => {
        for (const { producer, folder } of dead) {
          const entries = await entriesOf(world, producer)
          // The ones taken are beyond what a worker may have read before it froze.
          if (entries.length < 12) continue
          const whole = contentOf(framesOf(readSegments(folder)))
          const taken = entries.slice(-random.between(4, 6), -random.between(1, 3))
          if (taken.length === 0) continue
          await withRedis(world, (redis) => removeEntries(redis, taken))
          const left = entries.filter((entry) => !taken.includes(entry)).map(({ sequence }) => sequence)
          const committedOffset = await committedOffsetOf(world, producer)
          // Also what Redis had lost before, and its producer had not sent again yet.
          const gone = whole.records.filter(
            ({ sequence }) => sequence > committedOffset && !left.includes(sequence),
          )
          for (const callId of [...gone.map((record) => record.callId), ...whole.open])
            world.allowances.calls.add(callId)
          const ranges = left.map((sequence) => ({ from: sequence, to: sequence }))
          for (const gap of gapsBetween(committedOffset, ranges))
            expected.push({ producer, ...gap, reason: 'producer_lost' })
          rmSync(folder, { recursive: true })
        }
      })
    })
    if (expected.length === 0) throw new NotNow('no producer had enough on the stream')
  } finally {
    world.allowances.gaps.push(...expected)
    await gateway.start()
  }
  await awaitNamed(world, expected)
}

/** The highest of the producer's sequences that anybody beside its journal has seen. */
async function shippedOf(world: World, producer: string): Promise<number> {
  const entries = await entriesOf(world, producer)
  return Math.max(await committedOffsetOf(world, producer), entries.at(-1)?.sequence ?? 0)
}
