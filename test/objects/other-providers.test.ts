import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'

/** What one kind of objects looks like at its provider, by the number of the one that is made. */
interface Sample {
  readonly at: string
  readonly make: string
  readonly made: (nr: string) => object
  /** The paths of one, its own first. */
  readonly paths: (nr: string) => readonly [string, ...string[]]
  readonly list: string
  readonly listed: (nrs: readonly string[]) => object
  /** Bodies that use it, with their paths. */
  readonly uses?: (nr: string) => readonly (readonly [path: string, body: object])[]
  readonly notFound: object
}

const AWS_NOT_FOUND = { message: 'The resource was not found.' }
const GOOGLE_NOT_FOUND = {
  error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' },
}
const OPENAI_NOT_FOUND = {
  error: {
    message: 'No such object: it does not exist, or is not yours.',
    type: 'invalid_request_error',
    param: 'id',
    code: null,
  },
}
const PLACE = '/v1/projects/p/locations/eu'
const reelArn = (nr: string) => `arn:aws:bedrock:us-east-1:123456789012:async-invoke/${nr}`
const jobArn = (nr: string) => `arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/${nr}`
const named = (collection: string, nr: string) => ({ name: `${PLACE.slice(4)}/${collection}/${nr}` })
const generate = `${PLACE}/publishers/google/models/gemini-2.5-flash:generateContent`
const uuid = (nr: string) => `00000000-0000-0000-0000-00000000${nr.slice(-4)}`

function vertexs(collection: string, uses?: Sample['uses']): Sample {
  return {
    at: '/vertex',
    make: `${PLACE}/${collection}`,
    made: (nr) => ({ ...named(collection, nr), state: 'JOB_STATE_PENDING' }),
    paths: (nr) => [`${PLACE}/${collection}/${nr}`, `${PLACE}/${collection}/${nr}:cancel`],
    list: `${PLACE}/${collection}`,
    listed: (nrs) => ({ [collection]: nrs.map((nr) => named(collection, nr)) }),
    notFound: GOOGLE_NOT_FOUND,
    ...(uses === undefined ? {} : { uses }),
  }
}

const SAMPLES: Readonly<Record<string, Sample>> = {
  "Bedrock's asynchronous invocation": {
    at: '/bedrock',
    make: '/async-invoke',
    made: (nr) => ({ invocationArn: reelArn(nr) }),
    paths: (nr) => [`/async-invoke/${encodeURIComponent(reelArn(nr))}`, `/async-invoke/${reelArn(nr)}`],
    list: '/async-invoke',
    listed: (nrs) => ({ asyncInvokeSummaries: nrs.map((nr) => ({ invocationArn: reelArn(nr) })) }),
    notFound: AWS_NOT_FOUND,
  },
  "Bedrock's invocation job": {
    at: '/bedrock',
    make: '/model-invocation-job',
    made: (nr) => ({ jobArn: jobArn(nr) }),
    paths: (nr) => [
      `/model-invocation-job/${encodeURIComponent(jobArn(nr))}`,
      `/model-invocation-job/${nr}`,
      `/model-invocation-job/${encodeURIComponent(jobArn(nr))}/stop`,
      `/model-invocation-job/${nr}/stop`,
    ],
    list: '/model-invocation-jobs',
    listed: (nrs) => ({ invocationJobSummaries: nrs.map((nr) => ({ jobArn: jobArn(nr), jobName: 'a' })) }),
    notFound: AWS_NOT_FOUND,
  },
  "Vertex's corpus": vertexs('ragCorpora', (nr) =>
    [
      { ragResources: [{ ragCorpus: named('ragCorpora', nr).name }] },
      { ragCorpora: [named('ragCorpora', nr).name] },
    ].flatMap(
      (vertexRagStore) =>
        [
          [generate, { contents: [], tools: [{ retrieval: { vertexRagStore } }] }],
          [`${PLACE}:retrieveContexts`, { query: { text: 'a' }, vertexRagStore }],
        ] as const,
    ),
  ),
  "Vertex's tuning job": vertexs('tuningJobs'),
  "Vertex's batch": vertexs('batchPredictionJobs'),
  "Vertex's cached content": vertexs('cachedContents', (nr) => [
    [generate, { contents: [], cachedContent: named('cachedContents', nr).name }],
  ]),
  "Cohere's dataset": {
    at: '/cohere',
    make: '/v1/datasets',
    made: (nr) => ({ id: uuid(nr) }),
    paths: (nr) => [`/v1/datasets/${uuid(nr)}`],
    list: '/v1/datasets',
    listed: (nrs) => ({ datasets: nrs.map((nr) => ({ id: uuid(nr), name: 'a' })) }),
    uses: (nr) => [
      ['/v1/embed-jobs', { model: 'embed-v4.0', dataset_id: uuid(nr) }],
      ['/v2/batches', { model: 'command-a', input_dataset_id: uuid(nr) }],
      ['/v1/finetuning/finetuned-models', { name: 'a', settings: { dataset_id: uuid(nr) } }],
    ],
    notFound: AWS_NOT_FOUND,
  },
  "Cohere's embed job": {
    at: '/cohere',
    make: '/v1/embed-jobs',
    made: (nr) => ({ job_id: uuid(nr), meta: { api_version: { version: '1' } } }),
    paths: (nr) => [`/v1/embed-jobs/${uuid(nr)}`, `/v1/embed-jobs/${uuid(nr)}/cancel`],
    list: '/v1/embed-jobs',
    listed: (nrs) => ({ embed_jobs: nrs.map((nr) => ({ job_id: uuid(nr), status: 'processing' })) }),
    notFound: AWS_NOT_FOUND,
  },
  "Cohere's batch": {
    at: '/cohere',
    make: '/v2/batches',
    made: (nr) => ({ batch: { id: uuid(nr), name: 'a', status: 'BATCH_STATUS_QUEUED' } }),
    paths: (nr) => [`/v2/batches/${uuid(nr)}`, `/v2/batches/${uuid(nr)}:cancel`],
    list: '/v2/batches',
    listed: (nrs) => ({ batches: nrs.map((nr) => ({ id: uuid(nr), name: 'a' })) }),
    notFound: AWS_NOT_FOUND,
  },
  "Cohere's tuned model": {
    at: '/cohere',
    make: '/v1/finetuning/finetuned-models',
    made: (nr) => ({ finetuned_model: { id: uuid(nr), name: 'a', status: 'STATUS_QUEUED' } }),
    paths: (nr) => [
      `/v1/finetuning/finetuned-models/${uuid(nr)}`,
      `/v1/finetuning/finetuned-models/${uuid(nr)}/events`,
      `/v1/models/${uuid(nr)}-ft`,
    ],
    list: '/v1/finetuning/finetuned-models',
    listed: (nrs) => ({ finetuned_models: nrs.map((nr) => ({ id: uuid(nr), name: 'a' })) }),
    uses: (nr) => [
      ['/v2/chat', { model: `${uuid(nr)}-ft`, messages: [] }],
      ['/v1/chat', { model: `${uuid(nr)}-ft`, message: 'a' }],
      ['/v2/rerank', { model: `${uuid(nr)}-ft`, query: 'a', documents: ['b'] }],
    ],
    notFound: AWS_NOT_FOUND,
  },
  // docs.perplexity.ai, "Create Async Chat Completion" and its neighbours.
  "Perplexity's asynchronous chat": {
    at: '/perplexity',
    make: '/v1/async/sonar',
    made: (nr) => ({ id: uuid(nr), model: 'sonar-deep-research', status: 'CREATED', response: null }),
    paths: (nr) => [`/v1/async/sonar/${uuid(nr)}`, `/async/chat/completions/${uuid(nr)}`],
    list: '/v1/async/sonar',
    listed: (nrs) => ({ requests: nrs.map((nr) => ({ id: uuid(nr), status: 'CREATED' })) }),
    notFound: OPENAI_NOT_FOUND,
  },
  // alibabacloud.com/help/en/model-studio/manage-asynchronous-tasks: any key of the account may query all of its tasks.
  "Alibaba's task": {
    at: '/alibaba',
    make: '/api/v1/services/aigc/text2image/image-synthesis',
    made: (nr) => ({ request_id: 'a', output: { task_id: uuid(nr), task_status: 'PENDING' } }),
    paths: (nr) => [`/api/v1/tasks/${uuid(nr)}`, `/api/v1/tasks/${uuid(nr)}/cancel`],
    list: '/api/v1/tasks/?status=SUCCEEDED',
    listed: (nrs) => ({
      data: nrs.map((nr) => ({ task_id: uuid(nr), request_id: 'a', status: 'SUCCEEDED' })),
    }),
    notFound: OPENAI_NOT_FOUND,
  },
}

let folder: string
let server: Server
let stack: TestStack
let acme: TestClient
let beta: TestClient
/** What the upstream was asked for, and what it answers next. */
const asked: string[] = []
let answer: (path: string) => object | string = () => ({})
let answerHeaders: Readonly<Record<string, string>> = {}

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const path = request.url ?? ''
      const isList = path === '/v1/models'
      if (!isList) asked.push(`${request.method} ${path}`)
      const body = isList ? { data: [] } : answer(path)
      const type = typeof body === 'string' ? 'text/event-stream' : 'application/json'
      response.writeHead(200, { 'content-type': type, ...answerHeaders })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  folder = await mkdtemp(join(tmpdir(), 'tallygate-objects-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
${['bedrock', 'vertex', 'cohere', 'openrouter', 'perplexity', 'alibaba', 'vercel-gateway'].map((name) => `  - { name: ${name}, url: '${url}', provider: ${name}, path_prefix: /${name} }`).join('\n')}
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
  ;[acme, beta] = await Promise.all([stack.addClient('acme'), stack.addClient('beta')])
})

afterAll(async () => {
  await stack?.stop()
  server?.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(folder, { recursive: true })
})

async function ask(client: TestClient, method: string, path: string, body?: object) {
  const got = await fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await got.text()
  const isJson = got.headers.get('content-type')?.includes('json') === true
  return { status: got.status, json: isJson ? (JSON.parse(text) as unknown) : null, text }
}

let made = 0

/** Has a client make one, and gives its number. */
async function make(client: TestClient, { at, make: path, made: document }: Sample): Promise<string> {
  made += 1
  const nr = `made0000${String(made).padStart(4, '0')}`
  answer = () => document(nr)
  expect((await ask(client, 'POST', at + path, {})).status).toBe(200)
  answer = () => document(nr)
  return nr
}

describe.each(Object.entries(SAMPLES))('%s', (_name, sample) => {
  test('is read and used by the client that made it; another gets the 404 of its provider', async () => {
    const nr = await make(acme, sample)
    const calls = [
      ...sample.paths(nr).flatMap(
        (path) =>
          [
            ['GET', path],
            ['DELETE', path],
            ['POST', path, {}],
          ] as const,
      ),
      ...(sample.uses?.(nr) ?? []).map(([path, body]) => ['POST', path, body] as const),
    ]
    const before = asked.length
    for (const [method, path, body] of calls) {
      const refused = await ask(beta, method, sample.at + path, body)
      expect([method, path, refused.status, refused.json]).toEqual([method, path, 404, sample.notFound])
    }
    expect(asked.length).toBe(before)
    expect((await ask(acme, 'GET', sample.at + sample.paths(nr)[0])).status).toBe(200)
    for (const [path, body] of sample.uses?.(nr) ?? []) {
      expect((await ask(acme, 'POST', sample.at + path, body)).status).toBe(200)
    }
  })

  test('is listed to its client alone', async () => {
    const mine = await make(acme, sample)
    const theirs = await make(beta, sample)
    answer = () => sample.listed([mine, theirs, 'operator0001'])
    expect((await ask(acme, 'GET', sample.at + sample.list)).json).toEqual(sample.listed([mine]))
    expect((await ask(beta, 'GET', sample.at + sample.list)).json).toEqual(sample.listed([theirs]))
  })
})

test.each([
  ["AWS's", "Bedrock's invocation job", 'nextToken', 'nextToken'],
  ["Google's", "Vertex's tuning job", 'nextPageToken', 'pageToken'],
  ["Cohere's", "Cohere's tuned model", 'next_page_token', 'page_token'],
])('a list of %s that begins with others’ objects is followed to the next page', async (_name, kind, member, parameter) => {
  const sample = SAMPLES[kind] as Sample
  const mine = await make(acme, sample)
  const theirs = await make(beta, sample)
  answer = (path) =>
    new URL(path, 'http://upstream').searchParams.get(parameter) === 'two'
      ? sample.listed([mine])
      : { ...sample.listed([theirs]), [member]: 'two' }
  expect((await ask(acme, 'GET', sample.at + sample.list)).json).toEqual(sample.listed([mine]))
})

test("a corpus of Vertex's that its operation names when it is done is its client's", async () => {
  const operation = `${PLACE}/operations/op00000001`
  answer = () => ({ name: operation.slice(4), metadata: {} })
  await ask(acme, 'POST', `/vertex${PLACE}/ragCorpora`, { displayName: 'a' })
  expect((await ask(beta, 'GET', `/vertex${operation}`)).status).toBe(404)
  answer = () => ({ name: operation.slice(4), done: true, response: named('ragCorpora', 'left00000001') })
  await ask(acme, 'GET', `/vertex${operation}`)
  expect((await ask(beta, 'GET', `/vertex${PLACE}/ragCorpora/left00000001`)).status).toBe(404)
  expect((await ask(acme, 'GET', `/vertex${PLACE}/ragCorpora/left00000001`)).status).toBe(200)
})

const endpointOf = (nr: string) => `${PLACE}/endpoints/77${nr.slice(-4)}`

test("the endpoints of a model that Vertex's tuning job leaves are its client's, at each door", async () => {
  const nr = await make(acme, SAMPLES["Vertex's tuning job"] as Sample)
  const endpoint = endpointOf(nr)
  const checkpoint = `${endpoint}1`
  const [job] = vertexs('tuningJobs').paths(nr)
  const tunedModel = { endpoint: endpoint.slice(4), checkpoints: [{ endpoint: checkpoint.slice(4) }] }
  answer = () => ({ ...named('tuningJobs', nr), state: 'JOB_STATE_SUCCEEDED', tunedModel })
  await ask(acme, 'GET', `/vertex${job}`)
  answer = () => ({})
  const doors = [
    `${endpoint}:generateContent`,
    `${endpoint}:streamGenerateContent?alt=sse`,
    `${endpoint}:predict`,
    `${endpoint}:rawPredict`,
    `${endpoint}/chat/completions`,
    `${checkpoint}:generateContent`,
    `${endpoint.replace('endpoints', '%45ndpoints/')}%3AgenerateContent`,
  ].map((path) => [path, { model: 'a', contents: [] }] as const)
  const model = endpoint.slice(4)
  const uses = [
    ...doors,
    [`${PLACE}/endpoints/openapi/chat/completions`, { model, messages: [] }],
    [`${PLACE}/batchPredictionJobs`, { model }],
    [`${PLACE}/cachedContents`, { model }],
  ] as const
  const before = asked.length
  for (const [path, body] of uses)
    expect([path, (await ask(beta, 'POST', `/vertex${path}`, body)).status]).toEqual([path, 404])
  expect((await ask(beta, 'GET', `/vertex${endpoint}`)).status).toBe(404)
  expect(asked.length).toBe(before)
  for (const [path, body] of uses)
    expect([path, (await ask(acme, 'POST', `/vertex${path}`, body)).status]).toEqual([path, 200])
})

// cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.models: a version is written behind `@`.
test("the model that Vertex's tuning job leaves is its client's, in each version", async () => {
  const nr = await make(acme, SAMPLES["Vertex's tuning job"] as Sample)
  const model = `${PLACE}/models/88${nr.slice(-4)}`
  const [job] = vertexs('tuningJobs').paths(nr)
  answer = () => ({
    ...named('tuningJobs', nr),
    state: 'JOB_STATE_SUCCEEDED',
    tunedModel: { model: `${model.slice(4)}@1`, endpoint: endpointOf(nr).slice(4) },
  })
  await ask(acme, 'GET', `/vertex${job}`)
  answer = () => ({ models: [{ name: model.slice(4) }, { name: `${PLACE.slice(4)}/models/operators` }] })
  expect((await ask(acme, 'GET', `/vertex${PLACE}/models`)).json).toEqual({
    models: [{ name: model.slice(4) }],
  })
  expect((await ask(beta, 'GET', `/vertex${PLACE}/models`)).json).toEqual({ models: [] })
  answer = () => ({})
  const before = asked.length
  const calls = [
    ['GET', model],
    ['GET', `${model}@1`],
    ['PATCH', model, {}],
    ['POST', `${model}:export`, {}],
    ['POST', `${PLACE}/batchPredictionJobs`, { model: model.slice(4) }],
    ['POST', `${PLACE}/tuningJobs`, { preTunedModel: { tunedModelName: model.slice(4) } }],
    ['DELETE', `${model}@1:deleteVersion`],
    ['DELETE', model],
  ] as const
  for (const [method, path, body] of calls)
    expect([path, (await ask(beta, method, `/vertex${path}`, body)).status]).toEqual([path, 404])
  expect(asked.length).toBe(before)
  for (const [method, path, body] of calls)
    expect([path, (await ask(acme, method, `/vertex${path}`, body)).status]).toEqual([path, 200])
})

test("a model of everyone's stays so when a client tunes it on, and the version is the client's", async () => {
  const nr = await make(acme, SAMPLES["Vertex's tuning job"] as Sample)
  const model = `${PLACE}/models/66${nr.slice(-4)}`
  const [job] = vertexs('tuningJobs').paths(nr)
  answer = () => ({
    ...named('tuningJobs', nr),
    state: 'JOB_STATE_SUCCEEDED',
    tunedModel: { model: `${model.slice(4)}@2`, endpoint: endpointOf(nr).slice(4) },
  })
  await ask(acme, 'GET', `/vertex${job}`)
  answer = () => ({})
  for (const [path, status] of [
    [model, 200],
    [`${model}@1`, 200],
    [`${model}@2`, 404],
  ] as const)
    expect([path, (await ask(beta, 'GET', `/vertex${path}`)).status]).toEqual([path, status])
  expect((await ask(acme, 'GET', `/vertex${model}@2`)).status).toBe(200)
})

test.each([
  'tuningJobs:rebaseTunedModel',
  'models:copy',
  'models:upload',
])("Vertex's %s, which names or makes models of the whole account, is refused", async (method) => {
  const before = asked.length
  expect((await ask(acme, 'POST', `/vertex${PLACE}/${method}`, {})).status).toBe(403)
  expect(asked.length).toBe(before)
})

test("an endpoint of the operator's own models is every client's, and so is that of OpenAI's format", async () => {
  for (const path of ['5550001:generateContent', '5550001/chat/completions', 'openapi/chat/completions'])
    for (const client of [acme, beta]) {
      const body = { model: 'google/gemini-2.5-flash', contents: [], messages: [] }
      expect((await ask(client, 'POST', `/vertex${PLACE}/endpoints/${path}`, body)).status).toBe(200)
    }
})

test.each([
  [
    "Cohere's embed job",
    (nr: string, out: string) => ({ job_id: uuid(nr), status: 'complete', output_dataset_id: out }),
  ],
  [
    "Cohere's batch",
    (nr: string, out: string) => ({
      batch: { id: uuid(nr), status: 'BATCH_STATUS_COMPLETED', output_dataset_id: out },
    }),
  ],
])('the dataset that %s leaves is its client’s', async (kind, ended) => {
  const sample = SAMPLES[kind] as Sample
  const nr = await make(acme, sample)
  const left = `left-of-${nr}`
  answer = () => ended(nr, left)
  await ask(acme, 'GET', sample.at + sample.paths(nr)[0])
  expect((await ask(beta, 'GET', `/cohere/v1/datasets/${left}`)).status).toBe(404)
  expect((await ask(acme, 'GET', `/cohere/v1/datasets/${left}`)).status).toBe(200)
})

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.001 }

test.each([
  ['an answer', '/v1/chat/completions', (id: string) => ({ id, choices: [], usage: USAGE }), false],
  ['an answer whose id a header has', '/v1/messages', () => ({ id: 'msg_1', type: 'message' }), true],
  ['vectors', '/v1/embeddings', (id: string) => ({ id, data: [], usage: USAGE }), false],
  [
    'a stream',
    '/v1/chat/completions',
    (id: string) =>
      `: OPENROUTER PROCESSING\n\ndata: ${JSON.stringify({ id, choices: [] })}\n\ndata: [DONE]\n\n`,
    false,
  ],
  ['sound', '/v1/audio/speech', () => 'sound', true],
])("what OpenRouter keeps of %s is its client's to read", async (name, path, body, isInHead) => {
  const id = `gen-${1_700_000_000}-${name.replaceAll(' ', '')}`
  answer = () => body(id)
  answerHeaders = isInHead ? { 'x-generation-id': id } : {}
  await ask(acme, 'POST', `/openrouter${path}`, { model: 'openai/gpt-4o-mini', messages: [], input: 'a' })
  answerHeaders = {}
  answer = () => ({ data: { id } })
  const before = asked.length
  for (const query of [
    `generation?id=${id}`,
    `generation/content?id=${id}`,
    `generation?%69d=${id.toUpperCase()}`,
  ]) {
    const refused = await ask(beta, 'GET', `/openrouter/v1/${query}`)
    expect([refused.status, refused.json]).toEqual([404, { error: { message: 'Not found', code: 404 } }])
  }
  // openrouter.ai/docs, "Submit feedback for a generation".
  const feedback = (generation_id: string) => ({ generation_id, category: 'incorrect_response' })
  for (const path of ['/openrouter/api/v1/generation/feedback', '/openrouter/v1/generation/feedback']) {
    const refused = await ask(beta, 'POST', path, feedback(id))
    expect([refused.status, refused.json]).toEqual([404, { error: { message: 'Not found', code: 404 } }])
  }
  expect(asked.length).toBe(before)
  for (const query of [`generation?id=${id}`, `generation/content?id=${id}`]) {
    expect((await ask(acme, 'GET', `/openrouter/v1/${query}`)).json).toEqual({ data: { id } })
  }
  expect((await ask(acme, 'POST', '/openrouter/api/v1/generation/feedback', feedback(id))).status).toBe(200)
})

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`

// vercel.com/docs/ai-gateway/observability-and-spend/usage, and ai-sdk.dev's "Generation Lookup", which names the member.
test.each([
  ['an answer', '/v1/chat/completions', (id: string) => ({ id, choices: [], usage: USAGE })],
  [
    'a stream',
    '/v1/chat/completions',
    (id: string) => `data: ${JSON.stringify({ id, choices: [] })}\n\ndata: [DONE]\n\n`,
  ],
  [
    'an answer with an id of its maker’s',
    '/v1/messages',
    (id: string) => ({ id: 'msg_1', provider_metadata: { gateway: { generationId: id } } }),
  ],
  [
    "an answer in the form of Vercel's own library",
    '/v3/ai/language-model',
    (id: string) => ({ content: [], providerMetadata: { gateway: { generationId: id } } }),
  ],
  [
    "a stream in Anthropic's format",
    '/v1/messages',
    (id: string) => `event: message_start\n${event({ type: 'message_start', message: { id } })}`,
  ],
  [
    'a stream of a message with an id of its maker’s',
    '/v1/messages',
    (id: string) =>
      event({ type: 'message_start', message: { id: 'msg_2' } }) +
      event({ type: 'message_delta', delta: {}, provider_metadata: { gateway: { generationId: id } } }),
  ],
  [
    "a stream in OpenAI's format of responses",
    '/v1/responses',
    (id: string) => event({ type: 'response.created', response: { id, status: 'in_progress' } }),
  ],
  [
    "a stream in the form of Vercel's own library, behind another event",
    '/v4/ai/language-model',
    (id: string) =>
      event({ type: 'stream-start', warnings: [] }) +
      event({ type: 'text-start', id: '0', providerMetadata: { gateway: { generationId: id } } }) +
      event({ type: 'finish' }),
  ],
])("what Vercel's gateway keeps of %s is its client's to read", async (name, path, body) => {
  const id = `gen_01KKHTPGE3C939744B2HHH9WJ3${name.length}`
  answer = () => body(id)
  await ask(acme, 'POST', `/vercel-gateway${path}`, { model: 'google/gemini-2.5-flash', messages: [] })
  answer = () => ({ data: { id } })
  const lookup = `/vercel-gateway/v1/generation?id=${id}`
  const before = asked.length
  expect((await ask(beta, 'GET', lookup)).status).toBe(404)
  expect(asked.length).toBe(before)
  expect((await ask(acme, 'GET', lookup)).json).toEqual({ data: { id } })
})

test("an answer at Vercel's gateway cannot take another client's by what a model writes", async () => {
  const id = 'gen_01KKHTPGE3C939744B2HHH9X00'
  answer = () => event({ id, choices: [] })
  const body = { model: 'google/gemini-2.5-flash', messages: [] }
  await ask(acme, 'POST', '/vercel-gateway/v1/chat/completions', body)
  const gateway = { generationId: id }
  const input = { message: { id }, provider_metadata: { gateway } }
  answer = () => event({ id: 'gen_2', content_block: { type: 'tool_use', input } })
  await ask(beta, 'POST', '/vercel-gateway/v1/messages', body)
  answer = () => ({ data: { id } })
  expect((await ask(beta, 'GET', `/vercel-gateway/v1/generation?id=${id}`)).status).toBe(404)
  expect((await ask(acme, 'GET', `/vercel-gateway/v1/generation?id=${id}`)).status).toBe(200)
})

// `GatewayBatch` of @ai-sdk/gateway: all three are asked by POST.
test("a batch of Vercel's own library is its client's to ask for and read", async () => {
  const batchId = 'batch_01KKHTPGE3C939744B2HHH9WJ3'
  answer = () => ({ batchId, status: 'pending' })
  const requests = [{ id: '1', modelId: 'openai/gpt-5', options: { prompt: [] } }]
  await ask(acme, 'POST', '/vercel-gateway/v4/ai/batch/start', { type: 'text', requests })
  const before = asked.length
  for (const verb of ['status', 'results']) {
    const refused = await ask(beta, 'POST', `/vercel-gateway/v4/ai/batch/${verb}`, { type: 'text', batchId })
    expect([verb, refused.status]).toEqual([verb, 404])
  }
  expect(asked.length).toBe(before)
  const own = await ask(acme, 'POST', '/vercel-gateway/v4/ai/batch/status', { type: 'text', batchId })
  expect(own.status).toBe(200)
})

test("Vercel's report of what the whole account spent is refused", async () => {
  answer = () => ({ results: [] })
  const before = asked.length
  const refused = await ask(acme, 'GET', '/vercel-gateway/v1/report?group_by=user&date_part=day')
  expect(refused.status).toBe(403)
  expect(asked.length).toBe(before)
})
