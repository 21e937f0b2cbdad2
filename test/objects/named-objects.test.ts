import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { busyness } from '../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { type ObjectUpstream, startObjectUpstream } from './object-upstream.ts'

let folder: string
let upstream: ObjectUpstream
let stack: TestStack
let acme: TestClient
let beta: TestClient
let file: string
let made = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-named-'))
  upstream = await startObjectUpstream()
  const config = join(folder, 'tallygate.yaml')
  await writeFile(
    config,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai }
  - { name: claude, url: '${upstream.url}', provider: anthropic, path_prefix: /claude }
  - { name: gemini, url: '${upstream.url}', provider: gemini, path_prefix: /gemini }
  - { name: open, url: 'http://localhost:${new URL(upstream.url).port}', provider: openai, path_prefix: /open, objects: shared }
default_upstream: openai
paths: { keys: [{ client: trusted, allow: ['POST **/evals/*/runs'] }] }
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: config } })
  ;[acme, beta] = await Promise.all([stack.addClient('acme'), stack.addClient('beta')])
  file = await make(acme, '/v1/files')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})

type Body = string | Buffer | FormData | object

async function ask(client: TestClient, method: string, path: string, body?: Body, headers: object = {}) {
  const isRaw = typeof body === 'string' || body instanceof FormData || Buffer.isBuffer(body)
  const answer = await fetch(stack.url + path, {
    method,
    headers: {
      authorization: `Bearer ${client.key}`,
      ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, text, error: /"code":\s*"(\w+)"/.exec(text)?.[1] ?? null }
}

async function make(client: TestClient, path: string, body: object = {}): Promise<string> {
  const { status, text } = await ask(client, 'POST', path, body)
  expect(status).toBe(200)
  return String((JSON.parse(text) as { id?: string }).id)
}

/** Another client is refused and nothing reaches the upstream; the owner's call goes on. */
async function isOwners(path: string, body: () => Body, headers: object = {}, refused = 404): Promise<void> {
  const before = upstream.objects.size
  expect((await ask(beta, 'POST', path, body(), headers)).status).toBe(refused)
  expect(upstream.objects.size).toBe(before)
  expect((await ask(acme, 'POST', path, body(), headers)).status).toBe(200)
}

function form(
  name: string,
  content: string | Buffer,
  fields: Readonly<Record<string, string>> = {},
): FormData {
  const data = new FormData()
  for (const [field, value] of Object.entries(fields)) data.append(field, value)
  data.append(name, new Blob([new Uint8Array(Buffer.from(content))]), 'lines.jsonl')
  return data
}

const line = (body: object, url = '/v1/responses') =>
  JSON.stringify({ custom_id: '1', method: 'POST', url, body })
const OWN_LINES = `${line({ model: 'gpt-4o-mini', input: 'x'.repeat(500) })}\n`.repeat(300)

describe('the file of a batch that is uploaded', () => {
  const upload = (content: string | Buffer) => () => form('file', content, { purpose: 'batch' })

  test.each([
    ['its first line', () => line({ previous_response_id: file })],
    [
      'its last line, without an end',
      () => OWN_LINES + line({ tools: [{ vector_store_ids: [null, file] }] }),
    ],
    ['an item of a conversation', () => line({ input: [{ type: 'item_reference', id: file }] })],
    [
      'a body in front of its url',
      () => `{"body":{"conversation":{"id":"${file}"}},"url":"/v1/responses"}\n`,
    ],
    [
      'names and values in escapes',
      () => `{"body":{"previous\\u005fresponse_id":"\\u0066${file.slice(1)}"}}`,
    ],
    ['a second text in its line', () => `{"a":1}{"body":{"file_id":"${file}"}}`],
    ['a line behind a broken one', () => `{"a":}\n{'b'\r{"body":{"file_id":"${file}"}}\n`],
    ['lines that end with carriage returns', () => `{"a":1}\r${line({ file_ids: [file] })}\r`],
    [
      'a request of Gemini’s',
      () => JSON.stringify({ key: 1, request: { cachedContent: `cachedContents/${file}` } }),
    ],
    ['a line of 2 MB', () => line({ input: 'x'.repeat(2_000_000), previous_response_id: file })],
    ['a byte order mark', () => `\ufeff${line({ file_id: file })}`],
  ])('names in %s only what is its client’s', async (_name, content) => {
    await isOwners('/v1/files', () => upload(content())())
  })

  test('in UTF-16 is refused', async () => {
    const wide = Buffer.from(`\ufeff${line({ file_id: file })}`, 'utf16le')
    expect((await ask(beta, 'POST', '/v1/files', upload(wide)())).status).toBe(400)
  })

  test('without a form around it is read too', async () => {
    await isOwners('/v1/files', () => line({ file_id: file }), { 'content-type': 'application/jsonl' })
  })

  test('in a coding, or in a form that servers read differently, is refused', async () => {
    const coded = await ask(beta, 'POST', '/v1/files', upload(OWN_LINES)(), { 'content-encoding': 'gzip' })
    expect(coded.status).toBe(400)
    const two = { 'content-type': 'multipart/form-data; boundary=a; boundary=b' }
    expect((await ask(beta, 'POST', '/v1/files', '--a\r\n', two)).status).toBe(400)
    const odd = { 'content-type': 'multipart/form-data; boundary=a' }
    expect((await ask(beta, 'POST', '/v1/files', 'preamble\r\n--a\r\n', odd)).status).toBe(400)
  })

  test('in a form of more than 1,000 parts is refused', async () => {
    const type = { 'content-type': 'multipart/form-data; boundary=a' }
    const form = (parts: number) =>
      `${'--a\r\ncontent-disposition: form-data; name="x"\r\n\r\n\r\n'.repeat(parts)}--a--\r\n`
    expect((await ask(beta, 'POST', '/v1/files', form(1_000), type)).status).toBe(200)
    const refused = await ask(beta, 'POST', '/v1/files', form(1_001), type)
    expect([refused.status, refused.text]).toEqual([400, expect.stringMatching(/at most 1000 parts/)])
  })

  test('and any other file goes on, byte for byte, whatever it holds', async () => {
    const picture = Buffer.from(Array.from({ length: 500_000 }, (_, at) => (at * 7919) % 256))
    for (const content of [OWN_LINES, picture, '', '{', `%PDF {"file_id":"${file}"}`]) {
      expect((await ask(beta, 'POST', '/v1/files', upload(content)())).status).toBe(200)
    }
  })

  test('in parts is refused, unless it is for another purpose', async () => {
    const upload = (purpose: string) => ({ purpose, filename: 'x', bytes: 1, mime_type: 'text/jsonl' })
    const refused = await ask(beta, 'POST', '/v1/uploads', upload('batch'))
    expect([refused.status, refused.error]).toEqual([403, 'path_not_allowed'])
    expect((await ask(beta, 'POST', '/v1/uploads', upload('user_data'))).status).toBe(200)
    expect((await ask(beta, 'POST', '/open/v1/uploads', upload('batch'))).status).toBe(200)
  })

  test('of a client that leaves amid it leaves nothing behind', async () => {
    const before = upstream.objects.size
    const request = http.request(`${stack.url}/v1/files`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${beta.key}`,
        'content-type': 'multipart/form-data; boundary=a',
        'content-length': 1_000_000,
      },
    })
    request.on('error', () => {})
    const lines = `--a\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n${OWN_LINES}`
    await new Promise((resolve) => request.write(lines, resolve))
    request.destroy()
    expect((await ask(beta, 'POST', '/v1/files', upload(OWN_LINES)())).status).toBe(200)
    expect(upstream.objects.size).toBe(before + 1)
  })
})

describe('a form', () => {
  test.each([
    ['/v1/containers/cntr_none12345/files', 'file_id'],
    ['/v1/videos', 'input_reference[file_id]'],
    ['/v1/videos/edits', 'video[id]'],
    ['/v1/images/edits', 'image[0][FILE_ID]'],
  ])('to %s names in its field %s only what is its client’s', async (path, name) => {
    const body = () => {
      const data = new FormData()
      data.append('model', 'gpt-image-1')
      data.append(name, file)
      data.append('prompt', 'x'.repeat(100_000))
      return data
    }
    const before = upstream.asked.length
    expect((await ask(beta, 'POST', path, body())).status).toBe(404)
    expect(upstream.asked.length).toBe(before)
    expect((await ask(acme, 'POST', path, body())).status).not.toBe(400)
  })

  test('to what takes JSON alone is refused', async () => {
    const body = new FormData()
    body.append('file_ids[]', file)
    expect((await ask(beta, 'POST', '/v1/containers', body)).status).toBe(400)
  })

  test('of a page, where JSON is expected, is refused', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const path of ['/v1/containers', '/v1/batches', '/v1/responses']) {
      expect((await ask(beta, 'POST', path, `name=x&file_ids=${file}`, type)).status).toBe(400)
    }
  })
})

describe('what reads the whole account', () => {
  const RUN = { name: 'x', data_source: { type: 'responses', source: { type: 'responses' } } }

  test.each([
    ['/v1/evals', { data_source_config: { type: 'stored_completions' } }],
    ['/v1/evals', { data_source_config: { type: 'logs' } }],
    ['/v1/evals', '{"data_source_config":{"type":"custom","type":"logs"}}'],
    ['/v1/evals/eval_none12345/runs', RUN],
    [
      '/v1/evals/eval_none12345/runs',
      { data_source: { type: 'completions', source: { type: 'stored_completions' } } },
    ],
    ['/v1/evals/eval_none12345/runs', { data_source: { type: 'x', source: { type: 'anything new' } } }],
    ['/v1/%65vals', { Data_Source_Config: { Type: 'logs' } }],
  ])('a POST to %s with %j is refused, and goes on where objects are shared', async (path, body) => {
    const before = upstream.asked.length
    const { status, error } = await ask(beta, 'POST', path, body)
    expect([status, error]).toEqual([403, 'path_not_allowed'])
    expect(upstream.asked.length).toBe(before)
    expect((await ask(beta, 'POST', `/open${path}`, body)).status).not.toBe(403)
  })

  test('is allowed by a rule that names its path', async () => {
    const trusted = await stack.addClient('trusted')
    expect((await ask(trusted, 'POST', '/v1/evals/eval_none12345/runs', RUN)).status).not.toBe(403)
    expect((await ask(trusted, 'POST', '/v1/evals', { data_source_config: { type: 'logs' } })).status).toBe(
      403,
    )
  })

  test('an eval over a file or its own texts is the client’s to make', async () => {
    const custom = { data_source_config: { type: 'custom', item_schema: {} } }
    expect((await ask(beta, 'POST', '/v1/evals', custom)).status).toBe(200)
    const run = (id: string) => ({ data_source: { type: 'jsonl', source: { type: 'file_id', id } } })
    const evaluation = await make(beta, '/v1/evals', custom)
    expect((await ask(beta, 'POST', `/v1/evals/${evaluation}/runs`, run(file))).status).toBe(404)
    expect((await ask(beta, 'POST', `/v1/evals/${evaluation}/runs`, run('file-none123456'))).status).toBe(200)
  })
})

describe('a model that a job left', () => {
  test('is its client’s, in every call and wherever its name stands', async () => {
    const job = await make(acme, '/v1/fine_tuning/jobs', { model: 'gpt-4o-mini' })
    upstream.endJobs()
    const { text } = await ask(acme, 'GET', `/v1/fine_tuning/jobs/${job}`)
    const model = /ft:[\w:-]+/.exec(text)?.[0] ?? ''
    for (const [path, body] of [
      ['/v1/chat/completions', { model, messages: [] }],
      ['/v1/chat/completions', `{"model":"gpt-4o","model":"${model}","messages":[]}`],
      ['/v1/chat/completions', `{"model":"\\u0066t\\u003a${model.slice(3)}","messages":[]}`],
      ['/v1/responses', { model, input: 'x' }],
      ['/v1/fine_tuning/jobs', { model }],
      ['/v1/evals', { testing_criteria: [{ type: 'score_model', model }] }],
    ] as const) {
      expect([path, (await ask(beta, 'POST', path, body)).status]).toEqual([path, 404])
      expect([path, (await ask(acme, 'POST', path, body)).status]).toEqual([path, 200])
    }
    expect((await ask(beta, 'GET', `/v1/models/${model}`)).status).toBe(404)
    expect((await ask(beta, 'POST', '/v1/chat/completions', { model: 'ft:of:the-operator' })).status).toBe(
      200,
    )
  })
})

describe('a container in which tools ran', () => {
  test.each([false, true])('is its client’s, once its answer named it; streamed: %s', async (stream) => {
    const ran = { stream, model: 'claude-haiku-4-5', tools: [{ type: 'code_execution_20250825' }] }
    const { text } = await ask(acme, 'POST', '/claude/v1/messages', ran)
    const container = /container_Nr\w+/.exec(text)?.[0] ?? ''
    expect(container).not.toBe('')
    for (const named of [container, { skills: [], id: container }, [null, container]]) {
      const body = { model: 'claude-haiku-4-5', container: named, messages: [] }
      expect((await ask(beta, 'POST', '/claude/v1/messages', body)).status).toBe(404)
      expect((await ask(acme, 'POST', '/claude/v1/messages', body)).status).toBe(200)
    }
    const said = { model: 'claude-haiku-4-5', container: 'container_said', messages: [] }
    expect((await ask(beta, 'POST', '/claude/v1/messages', said)).status).toBe(200)
  })
})

describe('a key with a list of models', () => {
  test.each([
    [
      '/v1/responses',
      (model: string) => ({ model: 'gpt-4o-mini', tools: [{ type: 'image_generation', model }] }),
    ],
    ['/v1/evals', (model: string) => ({ testing_criteria: [{ type: 'score_model', model }] })],
    ['/v1/evals', (model: string) => ({ testing_criteria: [{ type: 'multi', graders: { a: { model } } }] })],
    ['/v1/assistants', (model: string) => ({ model })],
  ])('uses no other model at %s by %o', async (path, body) => {
    const limited = await stack.addClient(`limited-${++made}`, { models: ['gpt-4o-mini'] })
    const { status, error } = await ask(limited, 'POST', path, body('gpt-5'))
    expect([status, error]).toEqual([403, 'model_not_allowed'])
    expect((await ask(limited, 'POST', path, body('gpt-4o-mini'))).status).toBe(200)
  })
})

test('others are served while bodies of 60 MB are read for ids', async () => {
  const escapes = '\\u0061'.repeat(10_000_000)
  const nested = `${'{"file_id":"file-none123456","a":['.repeat(400)}${'["\\u0066",{}],'.repeat(3_000_000)}`
  const bodies = [`{"model":"gpt-4o-mini","input":"${escapes}"}`, `{"x":${nested}`]
  let isOver = false
  const sent = Promise.all(bodies.map((body) => ask(acme, 'POST', '/v1/responses', body))).finally(() => {
    isOver = true
  })
  const times: number[] = []
  while (!isOver) {
    const began = performance.now()
    expect(
      (await ask(beta, 'POST', '/v1/chat/completions', { model: 'gpt-4o-mini', messages: [] })).status,
    ).toBe(200)
    times.push(performance.now() - began)
  }
  times.sort((a, b) => a - b)
  const [whole, broken] = await sent
  expect([whole?.status, broken?.status]).toEqual([200, 400])
  // A loop over the whole body would take the loop for a second.
  expect(times[Math.floor(times.length / 2)]).toBeLessThan(500 * busyness())
})
