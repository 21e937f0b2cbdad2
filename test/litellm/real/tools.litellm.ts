import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

const PROGRAM = fileURLToPath(new URL('./tools.py', import.meta.url))
/** Of 11 prompt tokens and 7 generated ones of gpt-4o-mini. */
const CALL_USD = (11 * 0.15 + 7 * 0.6) / 1e6

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-tools-'))
  upstream = await startUpstream()
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `compat: litellm\nupstreams: [{ name: only, url: '${upstream.url}', provider: openai }]\n`,
  )
  stack = await startStack('', { env: { UPSTREAM_URL: '', UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  client = await stack.addClient('tools', { models: ['gpt-4o-mini'] })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

async function run(what: 'call' | 'read'): Promise<unknown> {
  const { stdout } = await promisify(execFile)('python3', [PROGRAM], {
    env: {
      PATH: process.env.PATH,
      PYTHONPATH: inject('installedLiteLlm'),
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      BASE: stack.url,
      KEY: client.key,
      DO: what,
    },
  })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

test('its client reads what the gateway says of a key through its own types, and its SDK the cost of a call', async () => {
  await setLimits(
    stack.pool,
    { clientId: client.id, keyId: client.keyId, model: null },
    [{ kind: 'budget', per: 'month', isSoft: false, amount: 3_000_000_000_000n }],
    'test',
  )
  await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits?.length).toBe(1)
  const { costs } = (await run('call')) as { costs: readonly number[] }
  expect(costs[0]).toBeCloseTo(CALL_USD, 15)
  await stack.usageOf(client, 2)
  const read = (await run('read')) as Record<string, unknown>
  expect(read).toMatchObject({
    key: true,
    alias: 'default',
    user: 'tools',
    keys: 1,
    models: ['gpt-4o-mini'],
    found: 'gpt-4o-mini',
    ready: 'healthy',
    budget: [expect.closeTo(2 * CALL_USD, 15), 3, '1mo'],
    prices: [[expect.closeTo(0.15e-6, 18), expect.closeTo(0.6e-6, 18)]],
  })
  const log = ['gpt-4o-mini', 11, 7, expect.closeTo(CALL_USD, 15)]
  expect(read.logs).toEqual([log, log])
  // None of it was a call.
  expect((await stack.usage(client)).requests).toBe(2)
})
