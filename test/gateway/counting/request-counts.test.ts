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
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-request-counts-'))
  upstream = await startUpstream()
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - name: openai
    url: '${upstream.url}'
    provider: openai
    paths: { allow: ['* **/realtime/client_secrets'] }
  - { name: voices, url: '${upstream.url}', path_prefix: /voices }
  - { name: bedrock, url: '${upstream.url}', provider: bedrock, path_prefix: /bedrock }
prices:
  - { model: eleven_multilingual_v2, character: '80' }
  - { model: sora-2-pro, service_tier: 1080p, video_second: '0.7' }
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
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

async function ask(path: string, body: string | object): Promise<Response> {
  const response = await fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  await response.arrayBuffer()
  return response
}

function sound(headers: Record<string, string> = {}): void {
  upstream.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'audio/mpeg', ...headers }).end(Buffer.alloc(4_000))
  })
}

test('seconds asked for in a body of megabytes are counted as in a small one', async () => {
  upstream.answer((_request, response) => json(response, 200, { invocationArn: 'arn:made' }))
  const image = { format: 'png', source: { bytes: 'A'.repeat(6_000_000) } }
  await ask('/bedrock/async-invoke', {
    modelInput: {
      taskType: 'TEXT_VIDEO',
      textToVideoParams: { text: 'p', images: [image] },
      videoGenerationConfig: { durationSeconds: 6, seed: 1 },
    },
    modelId: 'amazon.nova-reel-v1:1',
  })
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    {
      cost_pico: '480000000000',
      video_ms: '6000',
      reported_model: 'amazon.nova-reel-v1:1',
      usage_source: 'none',
    },
  ])
})

test('speech is counted by the characters that went upstream, refused speech and doubtful texts are not', async () => {
  sound()
  await ask('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', input: 'é'.repeat(1_000) })
  await ask('/v1/audio/speech', `{"model":"tts-1","input":"a","input":"${'a'.repeat(4_000)}"}`)
  upstream.answer((_request, response) => json(response, 400, { error: { message: 'no' } }))
  await ask('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', input: 'a'.repeat(1_000) })
  await stack.usageOf(client, 3)
  const rows = await stack.calls(client)
  expect(
    rows.map(({ characters, cost_pico, unpriced_reason }) => [characters, cost_pico, unpriced_reason]),
  ).toEqual([
    ['1000', '15000000000', null],
    [null, null, 'no_figures'],
    [null, '0', null],
  ])
})

test('what the operator prices has a price: characters at a host without known ones, a size that is not listed', async () => {
  sound({ 'character-cost': '500' })
  await ask('/voices/v1/text-to-speech/v', { text: 'a'.repeat(900), model_id: 'eleven_multilingual_v2' })
  const job = { id: 'video_1', model: 'sora-2-pro', seconds: '4', size: '1920x1080', status: 'queued' }
  upstream.answer((_request, response) => json(response, 200, job))
  await ask('/v1/videos', { model: 'sora-2-pro', prompt: 'p', seconds: '4', size: '1920x1080' })
  await stack.usageOf(client, 2)
  const rows = await stack.calls(client)
  expect(rows.map(({ cost_pico, service_tier }) => [cost_pico, service_tier])).toEqual([
    ['40000000000', null],
    ['2800000000000', '1080p'],
  ])
})

test('a credential that leads past the gateway, where it is allowed, has no cost and says why', async () => {
  upstream.answer((_request, response) => json(response, 200, { value: 'ek_made' }))
  const body = { session: { type: 'realtime', model: 'gpt-realtime' } }
  expect((await ask('/v1/realtime/client_secrets', body)).status).toBe(200)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([{ cost_pico: null, unpriced_reason: 'passes_by' }])
})

test('a key with a model list makes no calls whose model stands elsewhere than its body says', async () => {
  client = await stack.addClient('restricted', { models: ['sora-2'] })
  upstream.answer((_request, response) => json(response, 200, { id: 'made' }))
  for (const [path, body] of [
    ['/bedrock/async-invoke', { model: 'sora-2', modelId: 'amazon.nova-reel-v1:1', modelInput: {} }],
    ['/bedrock/rerank', { model: 'sora-2', queries: [], sources: [] }],
    ['/voices/v1/text-to-speech/v', { model: 'sora-2', text: 'a' }],
    ['/v1/videos/video_1/remix', { model: 'sora-2', prompt: 'p' }],
    ['/v1/realtime/client_secrets', { model: 'sora-2', session: { model: 'gpt-realtime' } }],
  ] as const) {
    expect((await ask(path, body)).status, path).toBe(403)
  }
  expect((await ask('/v1/videos', { model: 'sora-2', prompt: 'p' })).status).toBe(200)
})
