import { afterAll, beforeAll, expect, test } from 'vitest'
import { addReceiver } from '../../../src/alerts/receivers.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startWorkers, type Workers } from '../../../workers/workers.ts'
import { startReceiver, type TestReceiver } from '../../alerts/receiver.ts'
import { run } from '../../cli/command-line.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let busy: TestStack
let idle: TestStack
let client: TestClient
let receivers: readonly TestReceiver[]
const workers: Workers[] = []

beforeAll(async () => {
  upstream = await startUpstream()
  ;[busy, idle] = await Promise.all([
    startStack(upstream.url, { workers: false }),
    startStack(upstream.url, { workers: false }),
  ])
  client = await busy.addClient('counted-late')
  receivers = await Promise.all([startReceiver(), startReceiver()])
  const stacks = [busy, idle]
  for (const [index, { url }] of receivers.entries()) {
    const pool = stacks[index]?.pool ?? busy.pool
    await addReceiver(
      pool,
      { url, kinds: ['backlog'], thresholds: [], client: null, format: 'generic', secret: null },
      'test',
    )
  }
})
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.close()))
  await Promise.all([busy?.stop(), idle?.stop()])
  await Promise.all([upstream?.close(), ...(receivers ?? []).map((receiver) => receiver.stop())])
})

const degraded = async ({ url }: TestStack) =>
  ((await fetch(`${url}/readyz`).then((answer) => answer.json())) as { degraded: string[] }).degraded
const doctor = async ({ env }: TestStack) => await run(env, 'doctor')
const asOf = async () =>
  (await fetch(`${busy.url}/v1/usage`, { headers: { authorization: `Bearer ${client.key}` } })).headers.get(
    'x-tallygate-as-of',
  )
const alerts = () => receivers.map(({ received }) => received.map(({ body }) => JSON.parse(body)))

test('while no worker runs, readiness, doctor, an alert and usage say so, with calls and without', async () => {
  const answer = await fetch(`${busy.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  })
  expect(answer.status).toBe(200)
  await answer.text()
  await expect.poll(asOf).not.toBeNull()
  // The call has ended by now.
  const endedByMs = Date.now()

  for (const stack of [busy, idle]) {
    // On a busy machine Redis may be too late for it.
    await expect
      .poll(() => doctor(stack))
      .toMatchObject({ code: 1, out: expect.stringMatching(/^WRONG {2}workers +0 announced/m) })
  }
  await expect.poll(() => degraded(busy)).toContain('counting')
  expect(await degraded(idle)).not.toContain('counting')
  const message = expect.stringMatching(
    /^No worker runs: calls are recorded, and none is counted\. To do: start one: /,
  )
  await expect
    .poll(alerts)
    .toEqual([
      [expect.objectContaining({ type: 'backlog', message, workers: 0 })],
      [expect.objectContaining({ type: 'backlog', message, workers: 0 })],
    ])
  // It is remembered in this process, too, that the client's calls are not counted.
  expect(Date.parse((await asOf()) ?? '')).toBeLessThan(endedByMs)

  for (const { env } of [busy, idle]) {
    const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl = '', REDIS_PREFIX: redisPrefix = '' } = env
    const log = createLog('silent', 'test')
    workers.push(startWorkers({ databaseUrl, redisUrl, redisPrefix, callRetentionDays: 2, log }))
  }
  await busy.usageOf(client, 1)
  await expect.poll(() => degraded(busy)).not.toContain('counting')
  await expect.poll(asOf).toBeNull()
  await expect.poll(async () => (await doctor(idle)).out).toMatch(/^ok {5}workers +1 announced/m)
  const ofWorkers = alerts().map((sent) => sent.filter(({ workers }) => workers === 0).length)
  expect(ofWorkers).toEqual([1, 1])
})
