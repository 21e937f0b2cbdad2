import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'

// The official SDK of MCP at both ends: sessions, streams and tools, as if there were nothing between.

const PROGRAMS = fileURLToPath(new URL('./programs', import.meta.url))
let folder: string
let programs: string
let server: ChildProcess
let stack: TestStack

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-mcp-'))
  programs = join(inject('installedClients').node, 'programs')
  await cp(PROGRAMS, programs, { recursive: true })
  server = spawn(process.execPath, [join(programs, 'mcp-server.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [port] = await once(server.stdout ?? server, 'data')
  const url = `http://127.0.0.1:${String(port).trim()}`
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams: [{ name: made, url: '${url}', provider: mcp, path_prefix: /mcp/made }]
prices: [{ model: made/greet, per_request: '0.01' }]
axes: [{ name: session, totals: false, from: [{ header: mcp-session-id }] }]
`,
  )
  stack = await startStack(url, { env: { TALLYGATE_CONFIG: file } })
})

afterAll(async () => {
  await stack?.stop()
  server?.kill()
  await rm(folder, { recursive: true, force: true })
})

async function runAgent({ key }: TestClient) {
  const { stdout } = await promisify(execFile)(process.execPath, [join(programs, 'mcp-agent.mjs')], {
    cwd: folder,
    env: { PATH: process.env.PATH, BASE: stack.url, KEY: key },
  })
  return JSON.parse(stdout)
}

test('the official client calls tools in a session, and each call is counted under its tool', async () => {
  const agent = await stack.addClient('agent')
  const { said, sessionId } = await runAgent(agent)
  expect(said).toEqual({
    greet: { isError: false, text: 'Hello.' },
    fail: { isError: true, text: 'it failed' },
  })
  const ofTools = async () => (await stack.calls(agent)).filter(({ model }) => model !== '(none)')
  await expect.poll(async () => (await ofTools()).length).toBe(2)
  expect(
    (await ofTools()).map(({ model, failed_in_body: failed, cost_pico: pico, axes }) => [
      ...[model, failed, Number(pico) / 1e12],
      axes,
    ]),
  ).toEqual([
    ['made/greet', false, 0.01, `-session=${sessionId}`],
    ['made/fail', true, 0, `-session=${sessionId}`],
  ])
})

test('a key for other tools is refused, and the client’s library says why', async () => {
  const { said } = await runAgent(await stack.addClient('narrow', { models: ['made/greet'] }))
  expect(said).toMatchObject({
    greet: { isError: false },
    fail: { refused: expect.stringContaining("may not use the model 'made/fail'") },
  })
})
