import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { run } from '../cli/command-line.ts'
import { gatewayProcess, type TestProcess } from '../support/processes.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let gateway: TestProcess
let folder: string
let port: number

const writeConfig = (price: string, model: string) =>
  writeFile(
    join(folder, 'tallygate.yaml'),
    `upstreams: [{ name: only, url: '${upstream.url}', provider: openai-compatible }]
models: [{ id: ${model}, owned_by: us }]
prices: [{ model: gpt-4o-mini, input: '${price}', output: '0' }]
`,
  )

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('steady')
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-reload-'))
  port = await findFreePort()
  await writeConfig('1', 'first')
  const { UPSTREAM_URL: _, UPSTREAM_PROVIDER: __, ...env } = stack.env
  gateway = gatewayProcess('gateway', port, {
    ...env,
    TALLYGATE_CONFIG: join(folder, 'tallygate.yaml'),
    JOURNAL_DIR: join(folder, 'journal'),
  })
  await gateway.start()
})

afterAll(async () => {
  await gateway?.stop()
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

async function ask(path: string, body?: object): Promise<{ data: { id: string }[] }> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as { data: { id: string }[] }
}

const call = () => ask('/v1/chat/completions', { model: 'gpt-4o-mini', messages: [] })
const shown = async () => (await ask('/v1/models')).data.map(({ id }) => id)

test('SIGHUP takes the file as it is now, or, when anything in it is wrong, nothing of it', async () => {
  await call()
  // 11 prompt tokens at 1 USD per million.
  expect((await stack.usageOf(client, 1)).cost_usd).toBe(0.000011)

  await writeConfig('3', 'second')
  gateway.signal('SIGHUP')
  await expect.poll(shown).toEqual(['second'])
  await call()
  expect((await stack.usageOf(client, 2)).cost_usd).toBe(0.000044)

  await writeConfig('-5', 'third')
  gateway.signal('SIGHUP')
  await call()
  expect((await stack.usageOf(client, 3)).cost_usd).toBe(0.000077)
  expect(await shown()).toEqual(['second'])
})

test('tallygate reload does the same from any shell, and says what is wrong', async () => {
  await writeConfig('1', 'fourth')
  const { code, out } = await run(stack.env, 'reload')
  expect(out).toMatch(/gateway \S+ has read them/)
  // The gateway of the stack has no file, and takes no signal: it says that it is not ready.
  expect(code).toBe(1)
  await expect.poll(shown).toEqual(['fourth'])
})
