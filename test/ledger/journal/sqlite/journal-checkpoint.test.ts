import { describe, expect, test, vi } from 'vitest'
import { JournalCheckpoint } from '../../../../src/ledger/journal/sqlite/journal-checkpoint.ts'
import type {
  CheckpointMode,
  CheckpointResult,
} from '../../../../src/ledger/journal/sqlite/thread/checkpoint.ts'
import { logLines } from '../../support/log-lines.ts'

interface Step {
  readonly mode: CheckpointMode
  readonly paused: boolean
}

function checkpointWith(answers: (Partial<CheckpointResult> | Error)[], { walFrames = 10_000 } = {}) {
  const steps: Step[] = []
  const synced: number[] = []
  const log = logLines()
  const ended = vi.fn<() => void>()
  const checkpoint: JournalCheckpoint = new JournalCheckpoint({
    path: 'journal.db',
    work: {
      checkpoint: async (_path, mode) => {
        steps.push({ mode, paused: checkpoint.pausesCommits })
        const answer = answers.shift() ?? {}
        if (answer instanceof Error) throw answer
        return { framesLeft: 0, ...answer }
      },
    },
    log,
    walFrames: () => walFrames,
    committed: () => 42,
    begins: () => {},
    ended,
    synced: (sequence) => synced.push(sequence),
  })
  return { checkpoint, steps, synced, log, ended }
}

describe('a checkpoint', () => {
  test('a checkpoint lets commits continue until only a small remainder is left, and holds them for that', async () => {
    const { checkpoint, steps, synced, ended } = checkpointWith([{ framesLeft: 5_000 }, { framesLeft: 10 }])
    checkpoint.runIfDue()
    await checkpoint.settled()
    expect(steps).toEqual([
      { mode: 'passive', paused: false },
      { mode: 'passive', paused: false },
      { mode: 'restart', paused: true },
    ])
    expect(checkpoint.pausesCommits).toBe(false)
    expect(synced).toEqual([42])
    expect(ended).toHaveBeenCalledTimes(1)
  })

  test('a checkpoint is not begun for a short WAL', async () => {
    const { checkpoint, steps } = checkpointWith([], { walFrames: 100 })
    checkpoint.runIfDue()
    await checkpoint.settled()
    expect(steps).toEqual([])
  })

  test('a checkpoint under a load that never pauses holds commits after some rounds all the same', async () => {
    const { checkpoint, steps } = checkpointWith(Array.from({ length: 4 }, () => ({ framesLeft: 9_000 })))
    checkpoint.runIfDue()
    await checkpoint.settled()
    expect(steps.map(({ mode }) => mode)).toEqual(['passive', 'passive', 'passive', 'passive', 'restart'])
  })

  test('a checkpoint that fails lets commits continue, proves nothing, and is not tried again at once', async () => {
    const { checkpoint, steps, synced, log, ended } = checkpointWith([{}, new Error('disk full')])
    checkpoint.runIfDue()
    await checkpoint.settled()
    expect([checkpoint.pausesCommits, synced.length, log.lines.length]).toEqual([false, 0, 1])
    expect(ended).toHaveBeenCalledTimes(1)
    checkpoint.runIfDue()
    await checkpoint.settled()
    expect(steps).toHaveLength(2)
  })

  test('a checkpoint that could not move everything proves nothing', async () => {
    const { checkpoint, synced } = checkpointWith([{}, { framesLeft: 1 }])
    checkpoint.distrustSync()
    await checkpoint.run()
    expect([checkpoint.distrustsSync, synced.length]).toEqual([true, 0])
  })

  test('a checkpoint gives back trust in what was written before it', async () => {
    const { checkpoint, synced } = checkpointWith([])
    checkpoint.distrustSync()
    await checkpoint.run()
    expect([checkpoint.distrustsSync, synced]).toEqual([false, [42]])
  })

  test('a checkpoint to make room holds commits from its first moment, also when another is under way', async () => {
    const { checkpoint, steps } = checkpointWith([])
    const first = checkpoint.run()
    const second = checkpoint.makeRoom()
    expect(checkpoint.pausesCommits).toBe(true)
    await Promise.all([first, second])
    expect(steps.at(-1)).toEqual({ mode: 'truncate', paused: true })
    expect(checkpoint.pausesCommits).toBe(false)
  })
})
