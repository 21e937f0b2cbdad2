import { execFile } from 'node:child_process'
import dns from 'node:dns'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

/** A name that this process alone knows: a client that follows it fails. */
const HIDDEN = 'upstream.invalid'
const PROGRAMS = fileURLToPath(new URL('./programs', import.meta.url))

let upstream: TestUpstream
let folder: string
let stack: TestStack
let acme: TestClient
let beta: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  const real = dns.lookup
  vi.spyOn(dns, 'lookup').mockImplementation(((host: string, ...rest: unknown[]) =>
    Reflect.apply(real, dns, [
      host === HIDDEN ? '127.0.0.1' : host,
      ...rest,
    ])) as unknown as typeof dns.lookup)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  const origin = upstream.url.replace('127.0.0.1', HIDDEN)
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: anthropic, url: '${origin}', provider: anthropic, api_key_env: OPERATOR, path_prefix: /claude }
  - { name: gemini, url: '${origin}', provider: gemini, api_key_env: OPERATOR, path_prefix: /google }
`,
  )
  // Node looks for packages beside the program.
  await cp(PROGRAMS, join(inject('installedClients').node, 'programs'), { recursive: true })
  stack = await startStack('', {
    env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, OPERATOR: 'sk-operator', BASE_PATH: '/llm' },
  })
  ;[acme, beta] = await Promise.all([stack.addClient('acme'), stack.addClient('beta')])
  serve(origin)
})

afterAll(async () => {
  vi.restoreAllMocks()
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

let number = 0

/** Anthropic's batches and Google's uploads. */
function serve(origin: string): void {
  upstream.answer(({ method, url, headers, body }, response) => {
    if (url.endsWith('/results')) {
      const message = { id: 'msg_1', model: 'claude-haiku-4-5', usage: { input_tokens: 7, output_tokens: 5 } }
      response.end(`${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message } })}\n`)
    } else if (url.startsWith('/v1/messages/batches')) {
      if (method === 'POST') number += 1
      const id =
        method === 'POST' ? `msgbatch_0${number}HkcTjaV5uDC8jWR4ZsDV8d` : (url.split('/').at(-1) ?? '')
      const results_url = `${origin}/v1/messages/batches/${id}/results`
      json(response, 200, { id, type: 'message_batch', processing_status: 'ended', results_url })
    } else if (headers['x-goog-upload-command']?.includes('finalize') === true) {
      number += 1
      const named = { name: `files/f${number}`, uri: `${origin}/v1beta/files/f${number}`, state: 'ACTIVE' }
      response.setHeader('x-goog-upload-status', 'final')
      json(response, 200, { file: { ...named, sizeBytes: `${body.length}` } })
    } else {
      number += 1
      const address = `${origin}/upload/v1beta/files?upload_id=u${number}&upload_protocol=resumable`
      response.setHeader('x-goog-upload-status', 'active')
      response.writeHead(200, { 'x-goog-upload-url': address, 'content-type': 'application/json' }).end('{}')
    }
  })
}

/** What a program prints. */
async function run(program: string): Promise<string> {
  const { node, python } = inject('installedClients')
  const env = { PATH: process.env.PATH, BASE: stack.url, KEY: acme.key, PYTHONPATH: python }
  const command = program.endsWith('.py') ? 'python3' : process.execPath
  const { stdout } = await promisify(execFile)(command, [join(node, 'programs', program)], {
    cwd: folder,
    env,
  })
  return stdout.trim()
}

/** No key of ours came to the upstream, in whatever place. */
function expectNoKey(): void {
  expect(upstream.requests.length).toBeGreaterThan(0)
  const seen = upstream.requests.map(({ url, rawHeaders, body }) => `${url} ${rawHeaders.join(' ')} ${body}`)
  expect(seen.filter((text) => text.includes('tg_') || text.includes(acme.key))).toEqual([])
}

test.each([
  'anthropic-batches.py',
  'anthropic-batches.mjs',
])('%s reads its batch’s results with an upstream that it cannot reach, counted once and its own', async (program) => {
  upstream.requests.length = 0
  const before = (await stack.usage(acme)).output_tokens
  expect(JSON.parse(await run(program))).toEqual([5])
  await expect.poll(async () => (await stack.usage(acme)).output_tokens).toBe(before + 5)
  const [, , id] =
    /\/v1\/messages\/batches\/((msgbatch_\w+))\/results/.exec(
      upstream.requests.map(({ url }) => url).join(' '),
    ) ?? []
  const theirs = await fetch(`${stack.url}/claude/v1/messages/batches/${id}/results`, {
    headers: { 'x-api-key': beta.key },
  })
  expect(theirs.status).toBe(404)
  expectNoKey()
})

test.each([
  'google-upload.py',
  'google-upload.mjs',
])('%s uploads a file with an upstream that it cannot reach, which is its own', async (program) => {
  upstream.requests.length = 0
  const name = await run(program)
  expect(name).toMatch(/^files\/f\d+$/)
  const bytes = upstream.requests
    .map(({ body }) => body.toString())
    .filter((body) => body === 'bytes of a file')
  expect(bytes).toHaveLength(1)
  for (const [client, status] of [
    [acme, 200],
    [beta, 404],
  ] as const) {
    const answer = await fetch(`${stack.url}/google/v1beta/${name}`, {
      headers: { 'x-goog-api-key': client.key },
    })
    expect([client.name, answer.status]).toEqual([client.name, status])
  }
  expectNoKey()
})
