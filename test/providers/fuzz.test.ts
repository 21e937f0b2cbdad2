// @seconds: random bytes, and streams without an end.
import { describe, expect, test } from 'vitest'
import { PROVIDERS, type Provider } from '../../src/providers/registry.ts'
import { madeResponses } from '../fixtures/made-responses.ts'
import { heldMemory } from '../support/memory.ts'
import { rounds } from '../support/rounds.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { dialectOf } from './recordings/dialect-of.ts'
import { loadRecordings } from './recordings/recordings.ts'

/** However slow the machine is. */
const LEAST_RUNS = 200
/** `FUZZ_SECONDS` makes it run longer, with a seed of its own each time (`FUZZ_SEED` repeats one). */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? rounds({ short: 0.2, long: 30 }))
const SEED = Number(
  process.env.FUZZ_SEED ?? (process.env.FUZZ_SECONDS === undefined ? 20_261_121 : Date.now()),
)

/** Every endpoint the gateway may meet, of every provider. */
const PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/images/generations',
  '/v1/audio/transcriptions',
  '/v1/audio/speech',
  '/v1/moderations',
  '/v1/rerank',
  '/v1/messages',
  '/v1/complete',
  '/v1/ocr',
  '/v1/conversations',
  '/v1/chat',
  '/v2/chat',
  '/v2/embed',
  '/v1/models/gemini-2.5-flash:generateContent',
  '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
  '/v1beta/models/gemini-embedding-001:embedContent',
  '/v1beta/interactions',
  '/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict',
  '/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict',
  '/model/anthropic.claude-3-haiku-20240307-v1:0/converse',
  '/model/anthropic.claude-3-haiku-20240307-v1:0/converse-stream',
  '/model/meta.llama3-8b-instruct-v1:0/invoke',
  '/model/anthropic.claude-3-haiku-20240307-v1:0/invoke-with-response-stream',
  '/api/chat',
  '/api/generate',
  '/api/embed',
  '/generate',
  '/generate_stream',
  '/completion',
  '/api/v1/chat',
  '/ai/run/@cf/meta/llama',
  '/api/v1/services/aigc/text-generation/generation',
  '/serving-endpoints/m/invocations',
] as const

const CONTENT_TYPES = [
  'application/json',
  'text/event-stream',
  'application/x-ndjson',
  'application/vnd.amazon.eventstream',
  'text/plain',
  '',
]

const bodies: readonly Buffer[] = [
  ...madeResponses.map(({ body }) => Buffer.from(body)),
  ...loadRecordings().map(({ body }) => body),
].map((body) => body.subarray(0, 20_000))

/** One endpoint for each way of reading. */
const BOUNDED: readonly (readonly [Provider, string, string])[] = [
  ['openai', '/v1/chat/completions', ''],
  ['openai', '/v1/responses', ''],
  ['anthropic', '/v1/messages', ''],
  ['openai', '/v1/images/generations', ''],
  ['ollama', '/api/chat', 'application/x-ndjson'],
  ['gemini', '/v1beta/models/made:streamGenerateContent', 'application/json'],
  ['bedrock', '/model/made/converse-stream', 'application/vnd.amazon.eventstream'],
]

interface Case {
  readonly provider: Provider
  readonly path: string
  readonly contentType: string
  readonly status: number
  readonly body: Buffer
  readonly pieceBytes: number
}

function makeCase(random: () => number): Case {
  const below = (limit: number): number => Math.floor(random() * limit)
  const pick = <T>(from: readonly T[], otherwise: T): T => from[below(from.length)] ?? otherwise
  const body = (): Buffer => pick(bodies, Buffer.alloc(0))
  const mutate = (original: Buffer): Buffer => {
    const bytes = Buffer.from(original)
    const cut = below(bytes.length + 1)
    switch (below(7)) {
      case 0:
        return bytes.subarray(0, cut)
      case 1:
        return bytes.subarray(cut)
      case 2:
        return Buffer.concat([bytes.subarray(0, cut), body().subarray(below(1000))])
      case 3:
        return Buffer.from(Array.from({ length: below(3000) }, () => below(256)))
      case 4:
        return Buffer.concat([
          bytes.subarray(0, cut),
          Buffer.alloc(below(300), below(256)),
          bytes.subarray(cut),
        ])
      case 5: {
        const text = bytes.toString('latin1')
        const number = ['-1', '1e400', '"x"', 'null', '{}', '[]', '0.5', '99999999999999999999', 'tru'][
          below(9)
        ]
        return Buffer.from(
          text.replace(/(?<=[tT]okens?(?:Count)?":\s?)\d+/g, (old) => (below(2) ? old : `${number}`)),
          'latin1',
        )
      }
      default:
        for (let count = below(20); count > 0 && bytes.length > 0; count -= 1)
          bytes[below(bytes.length)] = below(256)
        return bytes
    }
  }
  return {
    provider: pick(PROVIDERS, 'openai'),
    path: pick(PATHS, '/v1/chat/completions'),
    contentType: pick(CONTENT_TYPES, ''),
    status: below(5) === 0 ? 500 : 200,
    body: mutate(below(3) === 0 ? mutate(body()) : body()),
    pieceBytes: 1 + below(random() < 0.5 ? 40 : 6000),
  }
}

function run({ provider, path, contentType, status, body, pieceBytes }: Case): void {
  const request = { method: 'POST', path, model: null, stream: null }
  const dialect = dialectOf(provider, request.method, path)
  if (dialect === null) return
  const reader = dialect.createReader(request, { status, headers: { 'content-type': contentType } })
  const before = Buffer.from(body)
  for (let at = 0; at < body.length; at += pieceBytes) {
    reader.push(body.subarray(at, at + pieceBytes))
    if (at % 7 === 0) assertSane(reader.peek())
  }
  assertSane(reader.end())
  expect(body.equals(before)).toBe(true)
}

function assertSane({
  usage,
  units,
  raw,
  reportedCostPico,
}: ReturnType<ReturnType<typeof readerOf>['peek']>): void {
  for (const count of [...Object.values(usage), ...Object.values(units)]) {
    const isSane = count === null || (Number.isSafeInteger(count) && count >= 0 && count <= 2 ** 40)
    if (!isSane) throw new Error(`${count} is not a count`)
  }
  if (raw !== null && Buffer.byteLength(raw) > 8192) throw new Error('the usage text is too long')
  if (reportedCostPico !== null && reportedCostPico < 0n) throw new Error('a cost below nothing')
}

function readerOf(provider: Provider, path: string, contentType: string) {
  const request = { method: 'POST', path, model: null, stream: null }
  const dialect = dialectOf(provider, 'POST', path)
  if (dialect === null) throw new Error(`nothing is metered at ${provider} ${path}`)
  return dialect.createReader(request, { status: 200, headers: { 'content-type': contentType } })
}

function heapBytes(): number {
  const { heapUsed, external } = heldMemory()
  return heapUsed + external
}

describe('readers under hostile bytes', () => {
  test(
    `readers under hostile bytes never throw, never say nonsense and never touch the bytes (seed ${SEED}, ${SECONDS} s)`,
    () => {
      const random = seededRandom(SEED)
      const until = performance.now() + SECONDS * 1000
      let runs = 0
      while (runs < LEAST_RUNS || performance.now() < until) {
        const made = makeCase(random)
        try {
          run(made)
        } catch (error) {
          const { body, ...rest } = made
          throw new Error(`${JSON.stringify(rest)} ${body.toString('base64').slice(0, 4000)}`, {
            cause: error,
          })
        }
        runs += 1
      }
    },
    SECONDS * 1000 + 60_000,
  )

  const endless: readonly { readonly name: string; readonly first: string; readonly again: string }[] = [
    { name: 'a line without an end', first: 'data: ', again: 'x'.repeat(65_536) },
    { name: 'an event without an end', first: 'data: {"usage":{', again: 'data: "a":1,\n'.repeat(5000) },
    { name: 'a string without an end', first: '{"model":"', again: 'm\\"'.repeat(20_000) },
    { name: 'a usage object without an end', first: '{"usage":{', again: '"prompt_tokens":1,'.repeat(4000) },
    { name: 'a key without an end', first: '{"', again: 'usage'.repeat(13_000) },
    {
      name: 'an array without an end',
      first: '[',
      again: '{"usageMetadata":{"promptTokenCount":1}},'.repeat(1600),
    },
    {
      name: 'choices without an end',
      first: '{"choices":[',
      again: '{"finish_reason":"stop"},'.repeat(2600),
    },
    { name: 'depth without an end', first: '{"x":', again: '['.repeat(65_536) },
    { name: 'white space without an end', first: '', again: ' \n'.repeat(32_768) },
    {
      name: 'long model names without an end',
      first: '',
      again: `data: {"model":"${'m'.repeat(3000)}"}\n\n`.repeat(20),
    },
    {
      name: 'usage without an end',
      first: '',
      again: 'data: {"usage":{"prompt_tokens":1}}\r\n\r\n'.repeat(1600),
    },
  ]
  for (const { name, first, again } of endless) {
    test(`readers keep a bounded part of ${name}`, () => {
      const readers = BOUNDED.map(([provider, path, contentType]) => readerOf(provider, path, contentType))
      const chunk = Buffer.from(again)
      for (const reader of readers) reader.push(Buffer.from(first))
      const before = heapBytes()
      for (const reader of readers)
        for (let sent = 0; sent < rounds({ short: 6e5, long: 8e6 }); sent += chunk.length) reader.push(chunk)
      const kept = (heapBytes() - before) / readers.length
      for (const reader of readers) reader.peek()
      expect(kept).toBeLessThan(400_000)
    })
  }
})
