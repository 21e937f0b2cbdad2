import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../cli/command-line.ts'
import { CLOCK_OFFSET_MS } from '../../clock/clock.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.ts'

const DAY_MS = 86_400_000
const PRELOAD = new URL('../../clock/shift-clock.mjs', import.meta.url).href

const OFF = [
  ['2 s ahead', 2_000],
  ['10 minutes ahead', 600_000],
  ['400 days ahead', 400 * DAY_MS],
  ['800 days behind', -800 * DAY_MS],
] as const

let upstream: TestUpstream
let stack: TestStack
let folder: string
let gateways: readonly GatewayProcess[]

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-clock-'))
  gateways = await Promise.all(
    OFF.map(([name, offMs]) =>
      startGatewayProcess({
        ...stack.env,
        JOURNAL_DIR: join(folder, name),
        NODE_OPTIONS: `--import ${PRELOAD}`,
        TEST_CLOCK_OFFSET_MS: `${CLOCK_OFFSET_MS + offMs}`,
      }),
    ),
  )
})

afterAll(async () => {
  for (const { child } of gateways ?? []) child.kill('SIGTERM')
  await Promise.all((gateways ?? []).map(({ exited }) => exited))
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

async function databaseMs(): Promise<number> {
  const { rows } = await stack.pool.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  return rows[0]?.ms ?? Number.NaN
}

/** Calls through one gateway, and its answer about them. */
async function callOnce(url: string, { key }: TestClient): Promise<void> {
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o-mini","messages":[]}',
  })
  expect(answer.status).toBe(200)
  await answer.text()
}

test.each(
  OFF.map(([name], index) => [name, index] as const),
)('a gateway whose clock is %s says so, and books no call more than a minute off', async (name, index) => {
  const gateway = gateways[index]
  if (gateway === undefined) throw new Error(`no gateway is ${name}`)
  await expect
    .poll(async () => (await fetch(`${gateway.url}/readyz`)).json())
    .toEqual({ status: 'ready', degraded: ['clock'] })
  expect(gateway.log.filter((line) => line.includes('"clock.off"'))).toHaveLength(1)
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  const shown = Number(/^tallygate_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1])
  expect(Math.abs(shown * 1_000 + (OFF[index]?.[1] ?? 0))).toBeLessThan(1_000)

  const client = await stack.addClient(name)
  const beforeMs = await databaseMs()
  await callOnce(gateway.url, client)
  const afterMs = await databaseMs()
  await stack.usageOf(client, 1)
  const [call] = await stack.calls(client)
  const arrivedAtMs = (call?.arrived_at as Date).getTime()
  expect(arrivedAtMs).toBeGreaterThan(beforeMs - 61_000)
  expect(arrivedAtMs).toBeLessThan(afterMs + 61_000)
  // Its own answer is of the same days.
  const asked = await fetch(`${gateway.url}/v1/usage`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  expect(await asked.json()).toMatchObject({ requests: 1 })
})

test('doctor names each of them, with how far it is off and what to do', async () => {
  const names = OFF.map(([name]) => new RegExp(`gateway \\S+ is ${name.replace('2 s', '2\\.\\d s')}`))
  await expect
    .poll(async () => (await run({ ...stack.env }, 'doctor')).out, { interval: 500 })
    .toMatch(/WRONG {2}clock .*days ahead/)
  const { code, out } = await run({ ...stack.env }, 'doctor')
  expect(code).toBe(1)
  const line = out.split('\n').find((text) => text.startsWith('WRONG  clock'))
  for (const name of names) expect(line).toMatch(name)
  expect(line).toContain('-> set the clocks of these hosts')
})
