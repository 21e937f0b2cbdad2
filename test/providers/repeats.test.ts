// @seconds: every split of long answers
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { UsageReader } from '../../src/providers/dialect.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { rounds } from '../support/rounds.ts'
import { dialectOf } from './recordings/dialect-of.ts'

/** Streams whose events mostly repeat each other, with whatever may make one of them another. */

interface Wire {
  readonly name: string
  readonly provider: Provider
  readonly path: string
  readonly contentType: string
  /** Puts a document on the wire; `end` ends a line. */
  readonly write: (document: string, end: string) => string
  /** As `write`, in a way of which no event is taken for a repetition: each is read on its own. */
  readonly writeApart: (document: string, end: string) => string
  readonly documents: fc.Arbitrary<object>
}

/** Of ten events, so many are like the others. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: odd })
}

const text = mostly(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('"usage":{"prompt_tokens":9}', '\\', '\\"', 'a\nb\r\n\r\n', '}],"x":[{', '\ud800', ''),
)
const count = mostly<unknown>(
  fc.integer({ min: 1, max: 5_000_000 }),
  fc.constantFrom<unknown>(
    0,
    null,
    -1,
    1.5,
    0.5,
    0.25,
    '28',
    1e13,
    1e300,
    123_456_789_012,
    1_099_511_627_777,
  ),
)
const absent = fc.constant(undefined)

const chat = fc.record({
  id: fc.constant('chatcmpl-1'),
  model: mostly<unknown>(fc.constant('m'), fc.constantFrom<unknown>('other', null, undefined)),
  created: fc.constantFrom(1_757_800_000, 1_757_800_001),
  service_tier: mostly<unknown>(absent, fc.constantFrom<unknown>('flex', 'priority', null)),
  choices: mostly<unknown>(
    fc
      .record({ content: text, finish: mostly<unknown>(fc.constant(null), fc.constant('stop')) })
      .map(({ content, finish }) => [{ index: 0, delta: { content }, finish_reason: finish }]),
    fc.constantFrom<unknown>([], [{ delta: {}, error: { code: 1 } }], undefined, 'x', [null]),
  ),
  usage: mostly<unknown>(
    fc.record({
      prompt_tokens: count,
      completion_tokens: count,
      total_tokens: mostly<unknown>(count, absent),
      cost: mostly<unknown>(absent, fc.constantFrom<unknown>(0.001, 0.0125, 5)),
    }),
    fc.constantFrom<unknown>(null, undefined, {}, [], 'x', { prompt_tokens: 0, completion_tokens: 0 }),
  ),
  error: mostly<unknown>(absent, fc.constantFrom<unknown>({ message: 'no' }, null)),
})

const gemini = fc.record({
  candidates: mostly<unknown>(
    fc
      .record({ text, finishReason: mostly<unknown>(absent, fc.constantFrom<unknown>('STOP', 1)) })
      .map(({ text, finishReason }) => [{ content: { parts: [{ text }], role: 'model' }, finishReason }]),
    fc.constantFrom<unknown>(
      undefined,
      [],
      [{ groundingMetadata: { webSearchQueries: ['a', 'b'], groundingChunks: [{ maps: {} }] } }],
    ),
  ),
  usageMetadata: mostly<unknown>(
    fc.record({
      promptTokenCount: count,
      candidatesTokenCount: mostly<unknown>(count, absent),
      cachedContentTokenCount: mostly<unknown>(absent, count),
      totalTokenCount: count,
      trafficType: mostly<unknown>(absent, fc.constantFrom<unknown>('ON_DEMAND', 'ON_DEMAND_FLEX', 1, 2, 3)),
    }),
    fc.constantFrom<unknown>(undefined, { trafficType: 'ON_DEMAND' }, { cachedContentTokenCount: 1.5 }, {}),
  ),
  modelVersion: mostly<unknown>(fc.constant('gemini-2.5-flash'), fc.constantFrom<unknown>('g', undefined)),
  responseId: mostly<unknown>(fc.constant('r1'), absent),
  error: mostly<unknown>(absent, fc.constant({ code: 500 })),
})

const ollama = fc.record({
  model: mostly<unknown>(fc.constant('llama3'), fc.constantFrom<unknown>('other', undefined)),
  created_at: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5Z'),
  message: fc.record({ role: fc.constant('assistant'), content: text }),
  done: mostly<unknown>(fc.constant(false), fc.constantFrom<unknown>(true, undefined)),
  prompt_eval_count: mostly<unknown>(absent, count),
  eval_count: mostly<unknown>(absent, count),
  error: mostly<unknown>(absent, fc.constant('out of memory')),
})

const asEvent = (document: string, end: string): string => `data: ${document}${end}${end}`
const asEventApart = (document: string, end: string): string => `: x${end}data: ${document}${end}${end}`

const WIRES: readonly Wire[] = [
  {
    name: 'running usage of a chat',
    provider: 'perplexity',
    path: '/chat/completions',
    contentType: 'text/event-stream',
    write: asEvent,
    writeApart: asEventApart,
    documents: chat,
  },
  {
    name: "Gemini's chunks",
    provider: 'gemini',
    path: '/v1beta/models/m:streamGenerateContent',
    contentType: 'text/event-stream',
    write: asEvent,
    writeApart: asEventApart,
    documents: gemini,
  },
  {
    name: "Ollama's lines",
    provider: 'ollama',
    path: '/api/chat',
    contentType: 'application/x-ndjson',
    write: (document, end) => `${document}${end}`,
    writeApart: (document, end) => ` ${document}${end}`,
    documents: ollama,
  },
]

/** What makes a document hostile; of most streams nothing. */
const edit = fc
  .record({ at: fc.nat({ max: 400 }), drop: fc.nat({ max: 2 }) })
  .chain((place) =>
    fc
      .constantFrom(
        '"',
        '\\',
        '\n',
        '\r',
        '}',
        '{"usage":{"prompt_tokens":7}}',
        ',"model":"z"',
        '0',
        '.',
        '1e9',
        '\u0000',
        'data: ',
      )
      .map((put) => ({ ...place, put })),
  )
const edits = mostly(fc.constant(null), edit)

const streams = (documents: fc.Arbitrary<object>) =>
  fc.record({
    events: fc.array(fc.record({ document: documents, edit: edits }), { minLength: 1, maxLength: 14 }),
    end: fc.constantFrom('\n', '\r\n'),
    pieces: fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 6 }),
    ends: fc.boolean(),
  })

function open({ provider, path, contentType }: Wire): UsageReader {
  const dialect = dialectOf(provider, 'POST', path)
  if (dialect === null) throw new Error(`nothing is metered at ${path}`)
  const request = { method: 'POST', path, model: null, stream: true }
  return dialect.createReader(request, { status: 200, headers: { 'content-type': contentType } })
}

function written(document: object, change: { at: number; drop: number; put: string } | null): string {
  const json = JSON.stringify(document)
  if (change === null) return json
  const at = change.at % json.length
  return json.slice(0, at) + change.put + json.slice(at + change.drop)
}

function finished(reader: UsageReader, ends: boolean) {
  return ends ? reader.end() : reader.peek()
}

describe('events that repeat each other', () => {
  for (const wire of WIRES) {
    test(`${wire.name}: however they come, they report what they do when each is read on its own`, () => {
      let running = 0
      fc.assert(
        fc.property(streams(wire.documents), ({ events, end, pieces, ends }) => {
          const documents = events.map(({ document, edit }) => written(document, edit))
          const apart = open(wire)
          const byEvent = open(wire)
          for (const document of documents) {
            apart.push(Buffer.from(wire.writeApart(document, end)))
            byEvent.push(Buffer.from(wire.write(document, end)))
            // Held for its snapshot is what is final, and nothing else.
            if (byEvent.isRunning !== true) continue
            running += 1
            expect(['partial', 'invalid']).toContain(apart.peek().usageSource)
          }
          const expected = finished(apart, ends)
          expect(finished(byEvent, ends)).toStrictEqual(expected)

          const body = Buffer.from(documents.map((document) => wire.write(document, end)).join(''))
          const inPieces = open(wire)
          let from = 0
          for (const bytes of [...pieces, body.length]) {
            const borrowed = Buffer.from(body.subarray(from, from + bytes))
            inPieces.push(borrowed)
            borrowed.fill(0x7e)
            from += bytes
          }
          expect(finished(inPieces, ends)).toStrictEqual(expected)
        }),
        { numRuns: rounds({ short: 300, long: 1_200 }), seed: 20_261_122 },
      )
      if (wire.name !== "Ollama's lines") expect(running).toBeGreaterThan(50)
    })
  }

  test('a line that only looks like an event is none, however often it is repeated', () => {
    const wire = WIRES.find(({ provider }) => provider === 'ollama')
    if (wire === undefined) throw new Error('there is such a wire')
    const reader = open(wire)
    reader.push(Buffer.from('{"model":"m","eval_count":3}\n'))
    for (let n = 4; n < 9; n += 1) reader.push(Buffer.from(`data: {"model":"m","eval_count":${n}}\n`))
    expect(reader.peek().usage.outputTokens).toBe(3)
  })

  test('running counts raise the revision, and are read when they are asked for', () => {
    const [wire] = WIRES
    if (wire === undefined) throw new Error('there are wires')
    const reader = open(wire)
    const push = (n: number, finish: string | null = null) => {
      const choices = [{ delta: { content: 'x' }, finish_reason: finish }]
      const usage = { prompt_tokens: 7, completion_tokens: n, total_tokens: 7 + n }
      reader.push(Buffer.from(wire.write(JSON.stringify({ model: 'm', choices, usage }), '\n')))
    }
    push(1)
    expect(reader.isRunning).toBe(false)
    for (let n = 2; n < 50; n += 1) {
      const before = reader.revision
      push(n)
      expect(reader.isRunning).toBe(true)
      expect(reader.revision).toBeGreaterThan(before)
      if (n % 10 !== 0) continue
      expect(reader.peek()).toMatchObject({ usageSource: 'partial', usage: { outputTokens: n } })
      expect(reader.isRunning).toBe(false)
    }
    push(50, 'stop')
    expect(reader.isRunning).toBe(false)
    expect(reader.peek()).toMatchObject({ usageSource: 'reported', usage: { outputTokens: 50 } })
  })
})
