import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseArgs } from 'node:util'
import { LLMock, type Mountable } from '@copilotkit/aimock'
import { countTokens } from 'gpt-tokenizer'

/**
 * A process that imitates a model provider: OpenAI's and Anthropic's endpoints, streamed or not. It answers
 * any prompt with a friendly text and true token counts.
 *
 *     node src/standalone/demo-upstream.ts --host 127.0.0.1 --port 4010
 */

/** Models with a price, so that a newcomer's first call costs something. */
const MODELS = [
  { id: 'gpt-4o-mini', owned_by: 'openai' },
  { id: 'gpt-4o', owned_by: 'openai' },
  { id: 'text-embedding-3-small', owned_by: 'openai' },
  { id: 'claude-haiku-4-5', owned_by: 'anthropic' },
  { id: 'claude-sonnet-4-5', owned_by: 'anthropic' },
]
const BODY_MAX_BYTES = 16 * 1024 * 1024
const EMBEDDING_DIMENSIONS = 1_536

const { values } = parseArgs({
  options: { host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '4010' } },
})
const upstream = new LLMock({ host: values.host, port: Number(values.port), journalMaxEntries: 10 })
upstream.mount('/v1/models', onGet(listModels))
upstream.mount('/v1/embeddings', onPost(embed))
upstream.addFixture({
  match: {},
  streamingProfile: { ttft: 120, tps: 60, jitter: 0.3 },
  response: ({ messages }) => {
    const prompt = messages.map(({ content }) => textOf(content)).join('\n')
    const content = answer(textOf(messages.findLast(({ role }) => role === 'user')?.content ?? null))
    return { content, usage: countUsage(prompt, messages.length, content) }
  },
})
await upstream.start()
process.once('SIGTERM', () => {
  void upstream.stop().then(() => process.exit(0))
})

function answer(prompt: string): string {
  const asked = prompt.length > 200 ? `${prompt.slice(0, 200)}…` : prompt
  return [
    "Hello from tallygate's demo upstream.",
    asked === '' ? 'You asked nothing in particular.' : `You said: "${asked}"`,
    'I am no model, but the tokens of this answer are counted and priced like those of one.',
    'Set UPSTREAM_URL and start again to put tallygate in front of a real backend.',
  ].join(' ')
}

/** The same two counts under the names that the two families of endpoints use. */
function countUsage(prompt: string, messages: number, content: string): Record<string, number> {
  const input = countTokens(prompt) + 4 * messages + 3 // what a chat's frame costs at OpenAI
  const output = countTokens(content)
  return { prompt_tokens: input, completion_tokens: output, input_tokens: input, output_tokens: output }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join(' ')
}

function listModels(): object {
  return {
    object: 'list',
    data: MODELS.map((model) => ({ ...model, object: 'model', created: 1_735_689_600 })),
  }
}

function embed(request: Record<string, unknown>): object {
  const inputs = Array.isArray(request.input) ? request.input.map(String) : [String(request.input ?? '')]
  const tokens = inputs.reduce((sum, input) => sum + countTokens(input), 0)
  return {
    object: 'list',
    model: request.model,
    data: inputs.map((input, index) => ({ object: 'embedding', index, embedding: direction(input) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** A unit vector that only depends on the text. */
function direction(text: string): number[] {
  let state = [...text].reduce((hash, character) => (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0, 7)
  const raw = Array.from({ length: EMBEDDING_DIMENSIONS }, () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  })
  const length = Math.hypot(...raw)
  return raw.map((value) => value / length)
}

function onGet(reply: () => object): Mountable {
  return {
    async handleRequest(request, response) {
      if (request.method !== 'GET') return false
      send(response, 200, reply())
      return true
    },
  }
}

function onPost(reply: (body: Record<string, unknown>) => object): Mountable {
  return {
    async handleRequest(request, response) {
      if (request.method !== 'POST') return false
      const body = await readJson(request)
      if (body === null)
        send(response, 400, { error: { message: 'not JSON', type: 'invalid_request_error' } })
      else send(response, 200, reply(body))
      return true
    },
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown> | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_MAX_BYTES) return null
    chunks.push(chunk)
  }
  try {
    return Object(JSON.parse(Buffer.concat(chunks).toString('utf8')))
  } catch {
    return null
  }
}
