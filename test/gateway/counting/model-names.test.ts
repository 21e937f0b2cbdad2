import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let clients = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-names-'))
  // Asked for its models when the gateway starts.
  upstream = await startUpstream((_request, response) =>
    json(response, 200, { models: [{ name: 'models/gemini-made-7' }] }),
  )
  const config = join(folder, 'upstreams.yaml')
  const upstreams = ['bedrock', 'cohere', 'vllm', 'openrouter', 'gemini'].map(
    (name) => `  - { name: ${name}, url: '${upstream.url}', provider: ${name}, path_prefix: /${name} }\n`,
  )
  const configured = `  - { name: main, url: '${upstream.url}', provider: vllm, models: ['configured-made-8', 'other-*'] }\n`
  await writeFile(config, `upstreams:\n${upstreams.join('')}${configured}`)
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
  client = await stack.addClient('lister')
  const listed = await fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${client.key}` } })
  expect(await listed.text()).toContain('gemini-made-7')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`client-${clients}`)
})

async function ask(path: string, body: object): Promise<void> {
  const answer = await fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
}

/** The names that the client's calls are totalled under, in the order of the calls. */
async function namesOf(calls: number): Promise<readonly unknown[]> {
  await stack.usageOf(client, calls)
  return (await stack.calls(client)).map(({ model }) => model)
}

const messages = [{ role: 'user', content: 'hi' }]

test('an answer that names no model is totalled under the name that its upstream served', async () => {
  const units = { search_units: 1 }
  upstream.answer((request, response) => {
    if (request.url.endsWith('/converse'))
      json(response, 200, { output: {}, usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } })
    else if (request.url.endsWith('/invoke')) json(response, 200, { embedding: [1], inputTextTokenCount: 3 })
    else if (request.url.endsWith('/rerank'))
      json(response, 200, { results: [], meta: { billed_units: units } })
    else if (request.url.endsWith('/embed'))
      json(response, 200, { embeddings: [], meta: { billed_units: { input_tokens: 3 } } })
    else if (request.url.endsWith('/chat'))
      json(response, 200, { usage: { billed_units: { input_tokens: 3, output_tokens: 2 } } })
    else response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(100))
  })
  await ask('/bedrock/model/moonshot.kimi-made-1%3A0/converse', { messages: [] })
  await ask('/bedrock/model/us.acme.embed-made-2/invoke', { inputText: 'hi' })
  await ask('/cohere/v2/chat', { model: 'command-made-3', messages })
  await ask('/cohere/v2/embed', { model: 'embed-made-4', texts: ['hi'] })
  await ask('/cohere/v2/rerank', { model: 'rerank-made-5', query: 'hi', documents: ['ho'] })
  await ask('/vllm/v1/audio/speech', { model: 'speech-made-6', input: 'hi', voice: 'x' })
  expect(await namesOf(6)).toEqual([
    'moonshot.kimi-made-1:0',
    'us.acme.embed-made-2',
    'command-made-3',
    'embed-made-4',
    'rerank-made-5',
    'speech-made-6',
  ])
})

test('a call that was not served keeps a name that is listed, configured or priced; others are (unknown)', async () => {
  upstream.answer((request, response) => {
    const { model = '' } = JSON.parse(request.body.toString())
    if (request.url === '/api/v1/chat/completions')
      json(response, 200, { error: { code: 404, message: model } })
    else json(response, request.headers['x-status'] === '500' ? 500 : 404, { error: { message: 'no' } })
  })
  await ask('/vllm/v1/chat/completions', { model: 'made-up', messages })
  await ask('/openrouter/api/v1/chat/completions', { model: 'made-up/too', messages })
  await ask('/cohere/v2/chat', { model: 'command-made-up', messages })
  await ask('/v1/chat/completions', { model: 'other-made-up', messages })
  await ask('/gemini/v1beta/models/gemini-made-7:generateContent', { contents: [] })
  await ask('/v1/chat/completions', { model: 'configured-made-8', messages })
  await ask('/vllm/v1/chat/completions', { model: 'gpt-4o', messages })
  await ask('/cohere/v2/chat', { model: 'command-r-plus', messages })
  expect(await namesOf(8)).toEqual([
    ...['(unknown)', '(unknown)', '(unknown)', '(unknown)'],
    ...['gemini-made-7', 'configured-made-8', 'gpt-4o', 'command-r-plus'],
  ])
})

test('a client that leaves before the answer began keeps a known name alone, one that leaves amid it any', async () => {
  upstream.answer((request, response) => {
    const { model } = JSON.parse(request.body.toString())
    if (model !== 'made-up-served') return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n')
  })
  for (const model of ['made-up', 'gpt-4o', 'made-up-served']) {
    const leaving = new AbortController()
    const before = upstream.requests.length
    const asked = fetch(`${stack.url}/vllm/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, messages }),
    })
    if (model === 'made-up-served') await (await asked).body?.getReader().read()
    else await expect.poll(() => upstream.requests.length).toBe(before + 1)
    leaving.abort()
    await asked.catch(() => {})
  }
  expect(await namesOf(3)).toEqual(['(unknown)', 'gpt-4o', 'made-up-served'])
})

test('a client that makes names up at an upstream that serves any has (other) for those beyond 500 a day', async () => {
  upstream.answer((_request, response) =>
    json(response, 200, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
  )
  const names = Array.from({ length: 520 }, (_, index) => `flood-${index}`)
  const send = async () => {
    for (let model = names.pop(); model !== undefined; model = names.pop()) {
      await ask('/vllm/v1/chat/completions', { model, messages })
    }
  }
  await Promise.all(Array.from({ length: 8 }, send))
  await stack.usageOf(client, 520)
  const { data = [] } = await stack.usage(client, '?group_by=model')
  expect(data).toHaveLength(501)
  expect(data.find(({ model }) => model === '(other)')).toMatchObject({ requests: 20 })
})
