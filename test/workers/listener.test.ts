import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLog } from '../../src/lib/log.ts'
import { buildWorkerMetrics } from '../../src/metrics/rollup-metrics.ts'
import { listenForOperators } from '../../src/operator/worker-listener.ts'

const SUMS = { counted: 12, corrupt: 1, deadLetters: 2, callsSkipped: 3, gaps: 4 }

let problem: string | null
let listener: Awaited<ReturnType<typeof listenForOperators>>

beforeEach(async () => {
  problem = null
  listener = await listenForOperators({
    host: '127.0.0.1',
    port: 0,
    problem: async () => problem,
    metrics: buildWorkerMetrics({
      sums: () => SUMS,
      lags: async () => [{ shard: 'tallygate:calls', entries: 7, oldestMs: 1_500 }],
      problem: async () => problem,
      version: '1.2.3',
    }),
    log: createLog('silent', 'test'),
  })
})

afterEach(() => listener.close())

const get = (path: string) => fetch(`http://127.0.0.1:${listener.port}${path}`)

/** What the check of a container comes to. */
async function check(port: number): Promise<{ readonly code: number; readonly said: string }> {
  return await promisify(execFile)('deploy/healthy.sh', [`${port}`]).then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    ({ code, stdout }) => ({ code, said: stdout }),
  )
}

test('a worker shows what it has counted, and how far each of its shards is behind', async () => {
  const answer = await get('/metrics')
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const page = await answer.text()
  expect(page).toContain('\ntallygate_worker_counted_records_total 12\n')
  expect(page).toContain('\ntallygate_worker_dead_letters_total 2\n')
  expect(page).toContain('\ntallygate_worker_gaps_total 4\n')
  expect(page).toContain('\ntallygate_shard_waiting_records{shard="tallygate:calls"} 7\n')
  expect(page).toContain('\ntallygate_shard_lag_seconds{shard="tallygate:calls"} 1.5\n')
  expect(page).toContain('\ntallygate_worker_well 1\n')
})

test('a worker that is ill says why, and the check of its container says so without a Node of its own', async () => {
  expect((await get('/healthz')).status).toBe(200)
  expect(await check(listener.port)).toEqual({ code: 0, said: '' })
  problem = 'backlog: 3 records wait'
  const ill = { status: 'unavailable', degraded: ['counting'], advice: [problem] }
  await expect.poll(async () => await (await get('/readyz')).json()).toEqual(ill)
  expect((await get('/healthz')).status).toBe(200)
  const { code, said } = await check(listener.port)
  expect([code, said]).toEqual([1, expect.stringContaining(`503 {"status":"unavailable"`)])
  expect(said).toContain(problem)
})

test('a check of a container fails where nothing listens', async () => {
  const { port } = listener
  await listener.close()
  expect(await check(port)).toEqual({ code: 1, said: `nothing listens at port ${port}\n` })
})
