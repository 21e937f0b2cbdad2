import { expect, test } from 'vitest'
import { until } from '../../src/lib/repeat.ts'
import { type Run, supervise } from '../../src/standalone/processes/supervise.ts'
import { patienceMs } from '../support/patience.ts'

/** A made-up process that ends when asked to. */
function madeUpRun(pid: number) {
  const { promise, resolve } = Promise.withResolvers<string>()
  const run: Run = { pid, ended: promise, stop: async () => resolve('SIGTERM') }
  return { run, die: () => resolve('SIGKILL') }
}

const never = new AbortController().signal

function watched(start: (attempt: number) => ReturnType<typeof madeUpRun>) {
  const runs: ReturnType<typeof madeUpRun>[] = []
  const lines: string[] = []
  const recorded: number[] = []
  let attempts = 0
  return {
    runs,
    lines,
    recorded,
    options: {
      name: 'thing',
      onStarted: (pid: number) => void recorded.push(pid),
      say: (line: string) => void lines.push(line),
      async start() {
        attempts += 1
        const made = start(attempts)
        runs.push(made)
        return made.run
      },
    },
  }
}

test('what dies is started again, recorded by its new number and announced', async () => {
  const { runs, lines, recorded, options } = watched((attempt) => madeUpRun(attempt))
  const supervised = await supervise(options, never)
  runs[0]?.die()
  await until(() => (recorded.length === 2 ? true : null), { timeoutMs: patienceMs() })
  expect(recorded).toEqual([1, 2])
  expect(lines).toEqual(['thing ended (SIGKILL), starting it again'])
  await supervised.stop(1_000)
})

test('a start that fails later is tried again and again', async () => {
  const { runs, lines, recorded, options } = watched((attempt) => {
    if (attempt === 2) throw new Error('no room')
    return madeUpRun(attempt)
  })
  const supervised = await supervise(options, never)
  runs[0]?.die()
  await until(() => (recorded.length === 2 ? true : null), { timeoutMs: patienceMs() })
  expect(recorded).toEqual([1, 3])
  expect(lines).toContain('thing does not start: no room')
  await supervised.stop(1_000)
})

test('the first start’s failure is the caller’s', async () => {
  const { options } = watched(() => {
    throw new Error('no room')
  })
  await expect(supervise(options, never)).rejects.toThrow('no room')
})

test('what dies is started again at once, and what dies again soon after waits', async () => {
  const { runs, recorded, options } = watched((attempt) => madeUpRun(attempt))
  const supervised = await supervise(options, never)
  const tookMs: number[] = []
  for (const run of [0, 1]) {
    const diedAtMs = performance.now()
    runs[run]?.die()
    await until(() => (recorded.length === run + 2 ? true : null), { timeoutMs: patienceMs(), everyMs: 1 })
    tookMs.push(performance.now() - diedAtMs)
  }
  const [first = 0, second = 0] = tookMs
  expect(second).toBeGreaterThan(240)
  expect(first).toBeLessThan(second / 2)
  await supervised.stop(1_000)
})

test('what is stopped stays stopped, also while it waits to be started again', async () => {
  const { runs, recorded, lines, options } = watched((attempt) => madeUpRun(attempt))
  const supervised = await supervise(options, never)
  runs[0]?.die()
  await until(() => (recorded.length === 2 ? true : null), { timeoutMs: patienceMs() })
  runs[1]?.die()
  await until(() => (lines.length === 2 ? true : null), { timeoutMs: patienceMs() })
  await supervised.stop(1_000)
  expect(recorded).toEqual([1, 2])
})
