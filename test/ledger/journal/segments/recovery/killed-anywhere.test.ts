// @seconds: a journal that is cut at every write
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { rounds } from '../../../../support/rounds.ts'
import { callId } from '../../../support/calls.ts'
import { MemoryDisk } from '../../../support/memory-disk.ts'
import { randomFrom } from '../../../support/random.ts'
import {
  adopt,
  expectNothingLostInSilence,
  expectNothingWrong,
  type Found,
} from '../../../support/recovered-truth.ts'
import { type SampleLog, sampleLog, type Truth } from '../../../support/sample-log.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})

afterEach(() => {
  vi.useRealTimers()
})

/** Lets calls and syncs happen in an order that the seed gives, on a disk that is full, or refuses syncs, from time to time. */
async function work(disk: MemoryDisk, random: () => number, steps: number): Promise<SampleLog> {
  const log = sampleLog(disk, 1_200)
  let number = 0
  const pick = (calls: Set<number>) => [...calls][Math.floor(random() * calls.size)]
  for (let step = 0; step < steps && !disk.isKilled; step++) {
    const what = random()
    const call = pick(log.truth.open)
    if (what < 0.35 || call === undefined) await log.open(++number)
    else if (what < 0.6) await log.close(call)
    else if (what < 0.65) log.discard(call)
    else if (what < 0.75) log.journal.saveSnapshot(callId(call), () => `{"n":${step}}`)
    else if (what < 0.8) disk.syncFailure = random() < 0.4 ? new Error('EIO') : null
    else if (what < 0.83) disk.room = random() < 0.4 ? Math.floor(random() * 400) : Number.POSITIVE_INFINITY
    else if (what < 0.92) await vi.advanceTimersByTimeAsync(random() * 2_000)
    else if (disk.syncTurns > 1 && random() < 0.5) void log.sync()
    else await log.sync()
    if (random() < 0.1) while (log.journal.prune(Math.floor(log.journal.synced * random()), 3));
  }
  log.truth.synced = Math.max(log.truth.synced, log.journal.synced)
  return log
}

/** After a kill, all that was answered is there: nothing has to be synced for that. */
function expectAllAnswered(
  found: Awaited<ReturnType<typeof adopt>>,
  { closed, open }: Truth,
  prunedTo: number,
): void {
  const missing = [...closed.keys()].filter(
    (sequence) => sequence > prunedTo && found?.records.has(sequence) !== true,
  )
  expect(missing).toEqual([])
  const there = new Set([...(found?.interrupted ?? []), ...(found?.records.values() ?? [])])
  expect([...open].map(callId).filter((call) => !there.has(call))).toEqual([])
  expect([found?.isDamaged, found?.isTailLost, found?.doubted]).toEqual([false, false, []])
}

/** Records that were deleted are not missing. */
function pruned(truth: Truth, prunedTo: number): Truth {
  const closed = new Map([...truth.closed].filter(([sequence]) => sequence > prunedTo))
  return { ...truth, closed }
}

/** A call whose opening was synced is a record or under way, also where its end was not synced. */
function expectNoneVanished(found: Found, { truth, journal }: SampleLog): void {
  const there = new Set([...found.interrupted, ...found.records.values()])
  for (const [sequence, call] of truth.closed) if (sequence <= journal.prunedTo) there.add(callId(call))
  const vanished = [...truth.syncedOnce].filter(
    (call) => !truth.discarded.has(call) && !there.has(callId(call)),
  )
  expect(vanished).toEqual([])
}

const SEEDS = Array.from({ length: rounds({ short: 50, long: 150 }) }, (_, seed) => seed + 1)

describe('a process that is killed', () => {
  test('a process that is killed at any write leaves all that it had answered', async () => {
    for (const seed of SEEDS) {
      const random = randomFrom(seed)
      const disk = new MemoryDisk()
      disk.steps = Math.floor(random() * 80) + 3
      const log = await work(disk, random, 120)
      const left = disk.copy()
      const found = await adopt(left)
      const { prunedTo } = log.journal
      expectAllAnswered(found, log.truth, prunedTo)
      if (found !== null) expectNothingWrong(found, log.truth)
    }
  })

  test('an adopter that is killed at any write leaves the log to the next one as it was', async () => {
    for (const seed of SEEDS.slice(0, rounds({ short: 12, long: 40 }))) {
      const random = randomFrom(seed)
      const disk = new MemoryDisk()
      disk.steps = Math.floor(random() * 80) + 20
      const log = await work(disk, random, 120)
      disk.isKilled = true // Also where it had not come to its last step.
      const left = disk.copy()
      for (let steps = 0; ; steps++) {
        left.steps = steps
        left.isKilled = false
        const killed = await adopt(left).then(
          () => false,
          () => true,
        )
        const after = left.copy()
        expectAllAnswered(await adopt(after), log.truth, log.journal.prunedTo)
        if (!killed) break
      }
    }
  })
})

test('power loss at any moment loses nothing that was synced, and makes up nothing', async () => {
  for (const seed of SEEDS) {
    const random = randomFrom(seed)
    const disk = new MemoryDisk()
    disk.syncTurns = seed % 2 === 0 ? 1 : 6
    const log = await work(disk, random, Math.floor(random() * 150))
    const left = disk.afterPowerLoss(random)
    const found = await adopt(left)
    const truth = pruned(log.truth, log.journal.prunedTo)
    if (found === null) expect(log.truth.synced).toBe(0)
    else {
      expectNothingWrong(found, truth)
      expectNothingLostInSilence(found, truth)
      expect([found.isDamaged, found.isTailLost]).toEqual([false, false])
      for (let sequence = log.journal.prunedTo + 1; sequence <= truth.synced; sequence++)
        expect(found.records.has(sequence)).toBe(true)
      expectNoneVanished(found, log)
      const again = await adopt(left.copy())
      expect(again).toMatchObject({ interrupted: found.interrupted, last: found.last, isDamaged: false })
    }
  }
})
