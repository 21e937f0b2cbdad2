import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { patienceMs } from '../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { type ObjectUpstream, startObjectUpstream } from './object-upstream.ts'

let folder: string
let upstream: ObjectUpstream
let stack: TestStack
let acme: TestClient
let beta: TestClient

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-objects-'))
  upstream = await startObjectUpstream()
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai }
  - { name: claude, url: '${upstream.url}', provider: anthropic, path_prefix: /claude }
  - { name: gemini, url: '${upstream.url}', provider: gemini, path_prefix: /gemini }
  - { name: open, url: 'http://localhost:${new URL(upstream.url).port}', provider: openai, path_prefix: /open, objects: shared }
default_upstream: openai
paths: { allow: ['DELETE **/tunedModels/*'] }
models: [{ id: gpt-4o-mini }]
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  ;[acme, beta] = await Promise.all([stack.addClient('acme'), stack.addClient('beta')])
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})

interface Answer {
  readonly status: number
  readonly text: string
  readonly json: Record<string, unknown>
  readonly headers: Headers
}

async function ask(client: TestClient, method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(stack.url + path, {
    method,
    headers: {
      authorization: `Bearer ${client.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  let json = {}
  try {
    json = JSON.parse(text)
  } catch {
    // a file's content
  }
  return { status: answer.status, text, json, headers: answer.headers }
}

/** Makes an object and gives what it is called on paths. */
async function make(client: TestClient, path: string, body: unknown = {}): Promise<string> {
  const answer = await ask(client, 'POST', path, body)
  expect(answer.status).toBe(200)
  const file = answer.json.file as Record<string, unknown> | undefined
  const named = file?.name ?? answer.json.name ?? answer.json.id
  return String(named).replace(/^\w+\//, '')
}

const KINDS = [
  ['a file', '/v1/files'],
  ['a batch', '/v1/batches'],
  ['a vector store', '/v1/vector_stores'],
  ['a conversation', '/v1/conversations'],
  ['a fine-tuning job', '/v1/fine_tuning/jobs'],
  ['a video', '/v1/videos'],
  ['a container', '/v1/containers'],
  ['an eval', '/v1/evals'],
  ['an upload', '/v1/uploads'],
  ['an assistant', '/v1/assistants'],
  ['a response', '/v1/responses'],
  ["Anthropic's batch", '/claude/v1/messages/batches'],
  ["Anthropic's file", '/claude/v1/files'],
  ["Google's batch", '/gemini/v1beta/batches'],
  ["Google's cached content", '/gemini/v1beta/cachedContents'],
  ["Google's tuned model", '/gemini/v1beta/tunedModels'],
] as const

test.each([
  ['is asked for', '{"model":"gpt-4o-mini","store":true}'],
  ['is asked for in escapes', '{"model":"gpt-4o-mini","\\u0073tor\\u0065":true}'],
  ['is asked for in other letters', '{"model":"gpt-4o-mini","Store":true}'],
])('a completion whose keeping %s is shown to no other client', async (_how, body) => {
  const path = '/v1/chat/completions'
  const id = await make(acme, path, body)
  expect((await ask(beta, 'GET', `${path}/${id}`)).status).toBe(404)
  expect((await ask(acme, 'GET', `${path}/${id}`)).status).toBe(200)
})

describe.each(KINDS)('%s of one client', (name, path) => {
  let id: string
  beforeAll(async () => {
    id = await make(acme, path)
  })

  test(`${name} of one client cannot be read, used or deleted by another, which gets 404`, async () => {
    const before = upstream.asked.length
    for (const [method, below] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/content'],
      ['POST', '/cancel'],
      ['POST', ''],
      ['HEAD', ''],
    ] as const) {
      expect((await ask(beta, method, `${path}/${id}${below}`)).status).toBe(404)
    }
    expect(upstream.asked.length).toBe(before)
    expect(upstream.objects.has(id)).toBe(true)
  })

  test(`${name} of one client is listed to its owner alone`, async () => {
    expect((await ask(acme, 'GET', path)).text).toContain(id)
    const others = await ask(beta, 'GET', path)
    expect(others.status).toBe(200)
    expect(others.text).not.toContain(id)
  })

  test(`${name} of one client is read and deleted by its owner`, async () => {
    expect((await ask(acme, 'GET', `${path}/${id}`)).text).toContain(id)
    // One that runs is not deleted.
    const document = upstream.objects.get(id)?.document
    if (document?.status === 'validating') document.status = 'failed'
    expect((await ask(acme, 'DELETE', `${path}/${id}`)).status).toBe(200)
    expect(upstream.objects.has(id)).toBe(false)
  })
})

test("Google's file that is uploaded through the gateway is its uploader's alone", async () => {
  const id = await make(acme, '/gemini/upload/v1beta/files')
  expect((await ask(beta, 'GET', `/gemini/v1beta/files/${id}`)).json).toEqual({
    error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' },
  })
  expect((await ask(beta, 'GET', '/gemini/v1beta/files')).text).not.toContain(id)
  expect((await ask(acme, 'GET', '/gemini/v1beta/files')).text).toContain(id)
})

test("a batch of Google's is made by a method of a model, and is whose it is", async () => {
  const id = await make(acme, '/gemini/v1beta/models/gemini-2.5-flash:batchGenerateContent')
  expect((await ask(beta, 'GET', `/gemini/v1beta/batches/${id}`)).status).toBe(404)
  expect((await ask(beta, 'POST', `/gemini/v1beta/batches/${id}:cancel`)).status).toBe(404)
  expect((await ask(acme, 'GET', `/gemini/v1beta/batches/${id}`)).status).toBe(200)
})

test('the refusal has the shape of its provider, and is not counted as a call', async () => {
  const file = await make(acme, '/v1/files')
  const batch = await make(acme, '/claude/v1/messages/batches')
  const answer = await ask(beta, 'GET', `/v1/files/${file}`)
  expect(answer.json).toMatchObject({ error: { type: 'invalid_request_error', param: 'id', code: null } })
  expect(answer.headers.get('x-tallygate-call-id')).toBeNull()
  expect((await ask(beta, 'GET', `/claude/v1/messages/batches/${batch}`)).json).toEqual({
    type: 'error',
    error: { type: 'not_found_error', message: 'Not found' },
  })
})

describe('another spelling of a path', () => {
  let id: string
  beforeAll(async () => {
    id = await make(acme, '/v1/files')
  })

  test.each([
    ['an encoded letter of the id', () => `/v1/files/%66${id.slice(1)}`],
    ['an encoded letter of the collection', () => `/v1/%66iles/${id}`],
    ['an encoded slash', () => `/v1/files%2F${id}`],
    ['twice encoded', () => `/v1/files/%2566${id.slice(1)}`],
    ['a doubled slash', () => `/v1//files//${id}`],
    ['a slash at the end', () => `/v1/files/${id}/`],
    ['a dot segment', () => `/v1/./files/./${id}`],
    ['a parameter', () => `/v1/files;a=b/${id};c=d`],
    ['upper case in the collection', () => `/v1/FILES/${id}`],
    ['other case in the id', () => `/v1/files/${id.toUpperCase()}`],
    ['another prefix before it', () => `/openai/v1/files/${id}`],
    ['an unknown collection', () => `/v1/things/${id}`],
    ['another upstream of the same account', () => `/claude/v1/files/${id}`],
  ])('a path spelled with %s does not open another client’s object', async (_name, path) => {
    const before = upstream.asked.length
    const answer = await ask(beta, 'GET', path())
    expect([400, 404]).toContain(answer.status)
    expect(upstream.asked.length).toBe(before)
  })

  test.each([
    '/v1/files/x/../',
    '/v1/x/%2e%2e/files/',
  ])('a path spelled with %s leads nowhere', async (path) => {
    // fetch itself resolves dot segments, so what arrives is either the plain path or refused.
    expect([400, 404]).toContain((await ask(beta, 'GET', path + id)).status)
  })
})

describe('an id in a body or a query', () => {
  let file: string
  let response: string
  let store: string
  let conversation: string
  let cached: string
  let googles: string
  beforeAll(async () => {
    file = await make(acme, '/v1/files')
    response = await make(acme, '/v1/responses')
    store = await make(acme, '/v1/vector_stores')
    conversation = await make(acme, '/v1/conversations')
    cached = await make(acme, '/gemini/v1beta/cachedContents')
    googles = await make(acme, '/gemini/upload/v1beta/files')
  })

  const content = (id: string) => [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }]
  const parts = (uri: string) => ({ contents: [{ parts: [{ fileData: { fileUri: uri } }] }] })
  test.each([
    ['input_file_id of a batch', '/v1/batches', () => ({ input_file_id: file })],
    ['training_file', '/v1/fine_tuning/jobs', () => ({ training_file: file, model: 'gpt-4o-mini' })],
    [
      'file_ids of a vector store',
      '/v1/vector_stores',
      () => ({ name: 'mine', file_ids: ['file-none0001', file] }),
    ],
    ['a file in a prompt', '/v1/responses', () => ({ model: 'gpt-4o-mini', input: content(file) })],
    ['a file in a chat', '/v1/chat/completions', () => ({ model: 'gpt-4o-mini', messages: content(file) })],
    [
      'previous_response_id',
      '/v1/responses',
      () => ({ model: 'gpt-4o-mini', previous_response_id: response }),
    ],
    ['conversation as text', '/v1/responses', () => ({ model: 'gpt-4o-mini', conversation })],
    [
      'conversation as object',
      '/v1/responses',
      () => ({ model: 'gpt-4o-mini', conversation: { id: conversation } }),
    ],
    [
      'vector_store_ids',
      '/v1/responses',
      () => ({ tools: [{ type: 'file_search', vector_store_ids: [store] }] }),
    ],
    [
      'container file_ids',
      '/v1/responses',
      () => ({ tools: [{ container: { type: 'auto', file_ids: [file] } }] }),
    ],
    [
      "Anthropic's file source",
      '/claude/v1/messages',
      () => ({ messages: [{ source: { type: 'file', file_id: file } }] }),
    ],
    [
      'cachedContent',
      '/gemini/v1beta/models/gemini-2.5-flash:generateContent',
      () => ({ cachedContent: `cachedContents/${cached}` }),
    ],
    [
      'fileUri',
      '/gemini/v1beta/models/gemini-2.5-flash:generateContent',
      () => parts(`${upstream.url}/v1beta/files/${googles}`),
    ],
    [
      'fileUri of what is counted',
      '/gemini/v1beta/models/gemini-2.5-flash:countTokens',
      () => ({ generateContentRequest: parts(`files/${googles}`) }),
    ],
    [
      "Anthropic's file source of what is counted",
      '/claude/v1/messages/count_tokens',
      () => ({ messages: [{ source: { type: 'file', file_id: file } }] }),
    ],
    [
      'a film that is gone on with',
      '/gemini/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
      () => ({
        instances: [{ video: { uri: `${upstream.url}/v1beta/files/${googles}:download?alt=media` } }],
      }),
    ],
    [
      'an operation that is asked for by a POST',
      '/gemini/v1beta/models/veo-3.1-generate-preview:fetchPredictOperation',
      () => ({ operationName: `projects/p/locations/l/cachedContents/${cached}` }),
    ],
    [
      'sound that is written down',
      '/v1/audio/transcriptions',
      () => ({ model: 'voxtral-mini-latest', file_id: file }),
    ],
    ['a name in escapes', '/v1/batches', () => `{"input_\\u0066ile_id":"${file}"}`],
    ['a value in escapes', '/v1/batches', () => `{"input_file_id":"\\u0066${file.slice(1)}"}`],
    ['a value behind spaces', '/v1/batches', () => `{"input_file_id" :\n "${file}"}`],
  ])('%s that names an object is refused to another client, and goes on for the owner', async (_name, path, body) => {
    const before = upstream.asked.length
    expect((await ask(beta, 'POST', path, body())).status).toBe(404)
    expect(upstream.asked.length).toBe(before)
    expect((await ask(acme, 'POST', path, body())).status).toBe(200)
  })

  test('a body with ids whose type is not said to be JSON is read all the same', async () => {
    const answer = await fetch(`${stack.url}/v1/batches`, {
      method: 'POST',
      headers: { authorization: `Bearer ${beta.key}`, 'content-type': 'text/plain' },
      body: JSON.stringify({ input_file_id: file }),
    })
    expect(answer.status).toBe(404)
  })

  test.each([
    ['a cursor', '/v1/files?limit=1&after='],
    ['a file', '/v1/containers?file_id='],
    ['an encoded name', '/v1/containers?%66ile_id='],
  ])('%s in a query is refused to another client', async (_name, path) => {
    expect((await ask(beta, 'GET', path + file)).status).toBe(404)
    expect((await ask(acme, 'GET', path + file)).status).toBe(200)
  })
})

test('a query that names more objects than are looked up is refused, and not sent', async () => {
  const before = upstream.asked.length
  const answer = await ask(beta, 'GET', `/v1/files?${'after=file-none0001&'.repeat(200)}`)
  expect(answer.status).toBe(400)
  expect(upstream.asked.length).toBe(before)
})

describe('a list', () => {
  test('a list keeps every byte that is not about others', async () => {
    const [mine] = [await make(beta, '/v1/evals'), await make(acme, '/v1/evals')]
    const { text } = await ask(beta, 'GET', '/v1/evals')
    const stored = [...upstream.objects.values()].filter(({ id }) => id === mine)
    const page = {
      object: 'list',
      data: stored.map(({ document }) => document),
      first_id: mine,
      last_id: mine,
      has_more: false,
    }
    expect(text).toBe(JSON.stringify(page, null, 1))
  })

  test('a list whose page is all others’ is followed until it holds one of the client’s objects, or ends', async () => {
    for (let i = 0; i < 5; i += 1) await make(acme, '/v1/uploads')
    const mine = await make(beta, '/v1/uploads')
    await make(acme, '/v1/uploads')
    const first = await ask(beta, 'GET', '/v1/uploads?limit=2')
    expect((first.json.data as { id: string }[]).map(({ id }) => id)).toEqual([mine])
    expect(first.json).toMatchObject({ first_id: mine, last_id: mine })
    const next = await ask(beta, 'GET', `/v1/uploads?limit=2&after=${mine}`)
    expect(next.json).toMatchObject({ data: [], first_id: null, last_id: null, has_more: false })

    for (let i = 0; i < 3; i += 1) await make(acme, '/gemini/upload/v1beta/files')
    const googles = await make(beta, '/gemini/upload/v1beta/files')
    expect((await ask(beta, 'GET', '/gemini/v1beta/files?pageSize=1')).text).toContain(googles)
  })

  test('a list that comes compressed although it was not asked for is read and cut', async () => {
    const hers = await make(acme, '/v1/containers')
    const mine = await make(beta, '/v1/containers')
    upstream.compress(true)
    const { status, text } = await ask(beta, 'GET', '/v1/containers').finally(() => upstream.compress(false))
    expect(status).toBe(200)
    expect(text).toContain(mine)
    expect(text).not.toContain(hers)
  })

  test('a list that is asked for with a body is cut all the same, and what is not a list is counted and not shown', async () => {
    const hers = await make(acme, '/v1/files')
    const body = JSON.stringify({ model: 'gpt-4o-mini' })
    const send = async (path: string) => {
      const request = http.request(`${stack.url}${path}`, {
        method: 'GET',
        headers: { authorization: `Bearer ${liar.key}`, 'content-length': body.length },
      })
      request.end(body)
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
      return { status: answer.statusCode, text: await text(answer) }
    }
    const liar = await stack.addClient('liar')
    const list = await send('/v1/files')
    expect(list.status).toBe(200)
    expect(list.text).not.toContain(hers)
    expect(await send('/v1/chat/completions?as=stream')).toMatchObject({ status: 502 })
    expect(await stack.usageOf(liar, 2)).toMatchObject({ input_tokens: 11, output_tokens: 7 })
  })

  test('a list is neither shown whole to a method that servers take for GET, nor deleted whole', async () => {
    const hers = await make(acme, '/v1/files')
    for (const method of ['OPTIONS', 'PUT', 'PATCH', 'REPORT']) {
      const answer = await ask(beta, method, '/v1/files?any')
      expect(answer.text).not.toContain(hers)
    }
    const before = upstream.asked.length
    expect((await ask(beta, 'DELETE', '/v1/files')).status).toBe(404)
    expect((await ask(acme, 'DELETE', '/v1/files')).status).toBe(404)
    expect(upstream.asked.length).toBe(before)
  })

  test('a list shows no object that none of the clients made, while a client that knows its id can read it', async () => {
    const { id } = upstream.put('vector_stores')
    expect((await ask(beta, 'GET', '/v1/vector_stores')).text).not.toContain(id)
    expect((await ask(beta, 'GET', `/v1/vector_stores/${id}`)).status).toBe(200)
  })
})

describe('what an object used', () => {
  test('what an object used is its creator’s, and the request is the fetcher’s, which gets none of the use', async () => {
    const [one, two] = await Promise.all([stack.addClient('one'), stack.addClient('two')])
    const batch = await make(one, '/v1/batches')
    const response = await make(one, '/v1/responses', { model: 'gpt-4o-mini', background: true })
    upstream.endJobs()
    expect((await ask(two, 'GET', `/v1/batches/${batch}`)).status).toBe(404)
    expect((await ask(two, 'GET', `/v1/responses/${response}`)).status).toBe(404)
    await ask(one, 'GET', `/v1/batches/${batch}`)
    await ask(one, 'GET', `/v1/responses/${response}`)
    expect(await stack.usageOf(one, 4)).toMatchObject({ input_tokens: 1_100, output_tokens: 550 })
    expect(await stack.usageOf(two, 0)).toMatchObject({ input_tokens: 0 })
  })

  test('what an object used is its creator’s also where objects are shared and another client fetches first', async () => {
    const [maker, fetcher] = await Promise.all([stack.addClient('maker'), stack.addClient('fetcher')])
    const batch = await make(maker, '/open/v1/batches')
    await stack.usageOf(maker, 1)
    expect((await ask(fetcher, 'GET', `/open/v1/batches/${batch}`)).status).toBe(200)
    expect(await stack.usageOf(fetcher, 1)).toMatchObject({ input_tokens: 0 })
    expect(await stack.usageOf(maker, 1)).toMatchObject({ input_tokens: 1_000, output_tokens: 500 })
    await ask(fetcher, 'GET', `/open/v1/batches/${batch}`)
    expect(await stack.usageOf(fetcher, 2)).toMatchObject({ input_tokens: 0 })
    const billed = (await stack.calls(maker)).find(({ told_by }) => told_by !== null)
    expect(billed).toMatchObject({ fetched_by_client_id: fetcher.id, fetched_by_key_id: fetcher.keyId })
  })

  test('the files that a batch left are its owner’s', async () => {
    const batch = await make(acme, '/v1/batches')
    upstream.endJobs()
    await ask(acme, 'GET', `/v1/batches/${batch}`)
    expect((await ask(beta, 'GET', `/v1/files/file-outputOf${batch}1/content`)).status).toBe(404)
  })
})

test('a response that is streamed is its maker’s', async () => {
  const { text } = await ask(acme, 'POST', '/v1/responses', { model: 'gpt-4o-mini', stream: true })
  const id = /resp_\w+/.exec(text)?.[0]
  expect((await ask(beta, 'GET', `/v1/responses/${id}`)).status).toBe(404)
  expect((await ask(acme, 'GET', `/v1/responses/${id}`)).status).toBe(200)
})

test('where objects are shared, all are seen, listed and deleted by all', async () => {
  const id = await make(acme, '/open/v1/files')
  expect((await ask(beta, 'GET', '/open/v1/files')).text).toContain(id)
  expect((await ask(beta, 'GET', `/open/v1/files/${id}`)).status).toBe(200)
  expect((await ask(beta, 'DELETE', `/open/v1/files/${id}`)).status).toBe(200)
})

test('what is deleted is marked so, and what is made is in Postgres with who made it', async () => {
  const owner = await stack.addClient('owner')
  const id = await make(owner, '/v1/files')
  await ask(owner, 'DELETE', `/v1/files/${id}`)
  await stack.usageOf(owner, 2)
  const until = performance.now() + patienceMs()
  for (;;) {
    const { rows } = await stack.pool.query(
      'select kind, client_id, key_id, job, deleted_at is not null as deleted from tallygate.objects where id = $1',
      [id],
    )
    if (rows[0]?.deleted === true || performance.now() > until) {
      expect(rows).toEqual([
        { kind: 'file', client_id: owner.id, key_id: owner.keyId, job: false, deleted: true },
      ])
      return
    }
    await delay(25)
  }
})
