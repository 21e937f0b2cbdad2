import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gapsBetween } from '../../../src/rollup/gap-check.ts'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import type { ExpectedGap } from '../allowances.ts'
import { awaitNamed, committedOffsetOf, entriesOf, removeEntries, withDeadJournals } from '../dead-gateway.ts'
import { type JournalContent, readJournal, tryReadJournal } from '../dead-journal.ts'
import { type Fault, NotNow } from '../fault.ts'
import { withFrozenWorkers } from '../frozen-workers.ts'
import type { Gateway } from '../gateway.ts'
import { SYNC_SIGNALS } from '../gateway-signals.ts'
import type { Random } from '../random.ts'
import { dropSyncedEnds, knownEnd } from '../synced-ends.ts'
import { commitEnds, firstEndWith, readWal, WAL_FILE } from '../wal-file.ts'
import type { World } from '../world.ts'
import { pickRunning } from './processes.ts'
import { withRedis } from './redis.ts'

const WORKERS_FROZEN_MS = 2_000
const CLOCK_JUMP_MS = 60_000
/** Of syncs of up to a second each. */
const SLOW_MIN_MS = 1_500
const SLOW_MAX_MS = 4_000
const KNOWN_WITHIN_MS = 10_000

/** Disks that lose what was not synced, or lose everything. */
export const journalFaults: readonly Fault[] = [
  losesWalTail('power loss', (wal, synced) => wal.subarray(0, synced)),
  losesWalTail('journal tail torn', (wal, synced, end, random) =>
    wal.subarray(0, random.between(synced, Math.max(synced, end - 1))),
  ),
  losesWalTail('journal tail corrupted', (wal, synced, end, random) => {
    const corrupted = Buffer.from(wal)
    const at = random.between(synced, Math.max(synced, end - 64))
    for (let byte = at; byte < Math.min(at + 64, end); byte += 1) corrupted[byte] = random.below(256)
    return corrupted
  }),
  {
    name: 'power loss under a slow disk',
    part: 'gateways',
    alone: true,
    inject: losePowerUnderSlowDisk,
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
 * that sync went cannot be seen from outside. Nothing is shipped before it is synced, so the end of what was
 * shipped is taken for it. That loses no less than a real power loss would.
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
      let changed = 0
      try {
        await withDeadJournals(world, gateway, async (dead) => {
          for (const { producer, folder, killedAtMs } of dead) {
            const wal = readWal(folder)
            const shipped = await shippedOf(world, producer)
            const ends = commitEnds(wal)
            const end = ends.at(-1) ?? 0
            const read = (bytes: Buffer) =>
              tryReadJournal(folder, bytes, (path) => writeFileSync(path, bytes))
            const whole = read(wal)
            const synced = firstEndWith(ends, (at) => (read(wal.subarray(0, at))?.last ?? -1) >= shipped)
            const left = change(wal, synced, end, random)
            if (left.subarray(0, end).equals(wal.subarray(0, end))) continue
            const last = read(left)?.last
            if (whole === null || last === undefined) continue
            allowLoss(world, whole, last)
            recordAge(world, whole, last, killedAtMs)
            writeFileSync(join(folder, WAL_FILE), left)
            changed += 1
          }
        })
      } finally {
        await gateway.start()
      }
      if (changed === 0) throw new NotNow('everything that was written had been shipped')
    },
  }
}

/**
 * As {@link losesWalTail}, with syncs that take up to a second and record how far they went. What was written
 * after that is gone, to the byte. No other copy of it may exist.
 */
async function losePowerUnderSlowDisk(world: World, random: Random): Promise<void> {
  const gateway = pickRunning(world.gateways, random)
  let changed = 0
  try {
    dropSyncedEnds(world.recordFolder)
    for (const { pid } of gateway.takers()) sendSignal(pid, SYNC_SIGNALS.slow)
    await delay(random.between(SLOW_MIN_MS, SLOW_MAX_MS))
    await knownOfOne(world, gateway)
    await withDeadJournals(world, gateway, async (dead) => {
      for (const { producer, folder } of dead) {
        const wal = readWal(folder)
        const read = (bytes: Buffer) => tryReadJournal(folder, bytes, (path) => writeFileSync(path, bytes))
        const whole = read(wal)
        const synced = knownEnd(world.recordFolder, producer, folder)
        if (synced === null) continue
        const left = wal.subarray(0, synced)
        const last = read(left)?.last
        if (whole === null || last === undefined || synced === commitEnds(wal).at(-1)) continue
        const shipped = await shippedOf(world, producer)
        if (shipped > last)
          throw new Error(`${producer} had shipped ${shipped} when its disk had no more than ${last}`)
        allowLoss(world, whole, last)
        writeFileSync(join(folder, WAL_FILE), left)
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
  const isKnown = (producer: string) =>
    knownEnd(world.recordFolder, producer, join(world.journalDir, producer)) !== null
  while (!gateway.takers().some(({ producers }) => producers.some(isKnown))) {
    if (performance.now() > until) throw new NotNow('no journal was synced between checkpoints')
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
          const wal = readWal(folder)
          const whole = readJournal(folder, wal, (path) => writeFileSync(path, wal))
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
