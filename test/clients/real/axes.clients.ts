import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AxisValue, parseAxes } from '../../../src/call/axes.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { folderOf } from './installed.ts'
import { type Asked, keysOf, type RunningProvider, startProvider } from './matrix/fakes/provider.ts'
import { PROVIDERS, type Row } from './matrix/rows.ts'
import { runRow } from './matrix/run-row.ts'

// For whom a call is, in which session and run, as each client says it by itself or by its settings.

const PROGRAMS = fileURLToPath(new URL('./programs', import.meta.url))
const NAMES = ['openai', 'anthropic'] as const
const MINUTES_MS = 300_000

let folder: string
let stack: TestStack
let control: Server
let providers: RunningProvider[]
const seen: Asked[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-axes-'))
  providers = await Promise.all(
    NAMES.map((name) => startProvider(name, PROVIDERS[name].family, (asked) => void seen.push(asked))),
  )
  const file = join(folder, 'tallygate.yaml')
  const upstreams = providers.map(
    ({ name, url }) =>
      `  - { name: ${name}, url: '${url}', provider: ${name}, path_prefix: /${name}, api_key_env: K_${name} }`,
  )
  await writeFile(
    file,
    `upstreams:
${upstreams.join('\n')}
axes:
  - name: user
    from:
      - header: x-user-id
      - preset: claude-code/user
      - preset: openai/user
      - preset: litellm/user
  - name: session
    totals: false
    from:
      - preset: claude-code/session
      - preset: litellm/session
      - header: x-session-id
      - preset: codex/session
  - { name: run, totals: false, from: [{ baggage: run }] }
`,
  )
  const keys = Object.fromEntries(NAMES.map((name) => [`K_${name}`, keysOf(name).gateway]))
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, ...keys } })
  control = createServer((_request, response) => void response.end())
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve))
})
beforeEach(() => {
  seen.length = 0
})
afterAll(async () => {
  await stack?.stop()
  await Promise.all((providers ?? []).map((provider) => provider.close()))
  control?.close()
  await rm(folder, { recursive: true, force: true })
})

/** What the calls that reported their usage have on each axis. */
async function valuesOf(client: TestClient): Promise<readonly Readonly<Record<string, string>>[]> {
  const asked = () => seen.filter(({ reported }) => reported !== null).length
  const counted = async () =>
    (await stack.calls(client)).filter(({ usage_source: source }) => source === 'reported')
  await expect.poll(async () => (await counted()).length).toBe(asked())
  return (await counted()).map(({ axes }) =>
    Object.fromEntries(parseAxes(String(axes)).map(({ axis, value }: AxisValue) => [axis, value])),
  )
}

const SAID = { user: 'ann', session: 'session-1', run: 'run-1' }

test.for([
  ['openai (Python)', 'python', 'openai', 2],
  ['anthropic (Python)', 'python', 'anthropic', 1],
  ['openai and @anthropic-ai/sdk (Node)', 'node', '', 2],
  ['LangChain', 'langchain', 'langchain', 3],
  ['litellm', 'litellm', 'litellm', 1],
  ['openai-agents', 'openai-agents', 'agents', 2],
] as const)(
  'calls of %s are of the user, the session and the run that it says',
  { timeout: MINUTES_MS },
  async ([, set, family, calls], context) => {
    const installed = folderOf(set, context)
    const client = await stack.addClient(`library-${set}-${family}`)
    const env = { PATH: process.env.PATH, HOME: folder, BASE: stack.url, KEY: client.key, FAMILY: family }
    if (set === 'node') {
      await cp(PROGRAMS, join(installed, 'programs'), { recursive: true })
      const program = join(installed, 'programs', 'attributed.mjs')
      await promisify(execFile)(process.execPath, [program], { env })
    } else {
      const own = { ...env, PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: '1', NO_PROXY: '127.0.0.1' }
      await promisify(execFile)('python3', [join(PROGRAMS, 'attributed.py')], { env: own })
    }
    expect(await valuesOf(client)).toEqual(Array.from({ length: calls }, () => SAID))
  },
)

/** Runs a program of the command line once. @returns What its calls have on each axis. */
async function runProgram(row: Row, installed: string, client: TestClient, headers: object) {
  const access = { layout: 'prefix', base: `${stack.url}/${row.provider}`, key: client.key }
  const others = { spent: '', wrong: '', secret: '', spentSecret: '' }
  const { port } = control.address() as AddressInfo
  const settings = { HEADERS: JSON.stringify(headers), CHAT_ALONE: 'yes' }
  const url = `http://127.0.0.1:${port}`
  const [step] = await runRow(row, installed, { ...access, ...others }, url, folder, settings)
  expect(step).toMatchObject({ step: 'chat', result: 'Hello there.' })
  return await valuesOf(client)
}

const COMMAND = { program: 'use-command.mjs' }

test(
  'calls of Claude Code are of the account or device and the session that it names by itself',
  async (context) => {
    const installed = folderOf('claude-code', context)
    const row: Row = {
      ...COMMAND,
      name: 'Claude Code',
      set: 'claude-code',
      provider: 'anthropic',
      variant: 'claude-code',
    }
    const run = async (name: string) => {
      seen.length = 0
      return await runProgram(row, installed, await stack.addClient(name), { baggage: `run=${name}` })
    }
    const first = await run('claude-1')
    const [asked] = seen
    const said = JSON.parse(String(Object(asked?.json.metadata).user_id))
    expect(first.length).toBeGreaterThan(0)
    expect(said.session_id).toBe(asked?.headers['x-claude-code-session-id'])
    const user =
      said.account_uuid === '' || said.account_uuid === undefined ? said.device_id : said.account_uuid
    expect(first).toEqual(first.map(() => ({ user, session: said.session_id, run: 'claude-1' })))
    const second = await run('claude-2')
    expect(second[0]?.session).not.toBe(first[0]?.session)
  },
  MINUTES_MS,
)

test(
  'calls of Codex are of the conversation that it names by itself',
  async (context) => {
    const installed = folderOf('codex', context)
    const row: Row = { ...COMMAND, name: 'Codex', set: 'codex', provider: 'openai', variant: 'codex' }
    const run = async (name: string) => {
      seen.length = 0
      const headers = { 'x-user-id': 'ann', baggage: `run=${name}` }
      return await runProgram(row, installed, await stack.addClient(name), headers)
    }
    const first = await run('codex-1')
    const session = String(seen.find(({ reported }) => reported !== null)?.json.prompt_cache_key)
    expect(first.length).toBeGreaterThan(0)
    expect(first).toEqual(first.map(() => ({ user: 'ann', session, run: 'codex-1' })))
    const second = await run('codex-2')
    expect(second[0]?.session).not.toBe(first[0]?.session)
  },
  MINUTES_MS,
)
