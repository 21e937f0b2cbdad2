import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editedBody, includeUsageEdit } from '../../../src/gateway/bodies/include-usage.ts'
import { scanRequestBody } from '../../../src/gateway/bodies/request-body.ts'
import { UsageEventFilter } from '../../../src/gateway/proxy/usage-event-filter.ts'
import { selectDialect } from '../../../src/providers/registry.ts'
import { rounds } from '../../support/rounds.ts'

function splice(body: string): string | null {
  const bytes = Buffer.from(body)
  const edit = includeUsageEdit(scanRequestBody(bytes))
  return edit === null ? null : editedBody(bytes, [edit]).toString()
}

describe('asking for usage', () => {
  test('stream_options is added, everything else stays byte for byte', () => {
    expect(splice('{"model":"m", "stream": true ,"seed":1.0e5, "x":12345678901234567890}')).toBe(
      '{"model":"m", "stream": true,"stream_options":{"include_usage":true} ,"seed":1.0e5, "x":12345678901234567890}',
    )
  })

  test('stream_options that are there get the member, or have false or null replaced', () => {
    expect(splice('{"stream":true,"stream_options":{}}')).toBe(
      '{"stream":true,"stream_options":{"include_usage":true}}',
    )
    expect(splice('{"stream_options": { "a" :1},"stream":true}')).toBe(
      '{"stream_options": {"include_usage":true, "a" :1},"stream":true}',
    )
    expect(splice('{"stream":true,"stream_options":{"a":[1], "include_usage" : false }}')).toBe(
      '{"stream":true,"stream_options":{"a":[1], "include_usage" : true }}',
    )
    expect(splice('{"stream":true,"stream_options":{"include_usage":null}}')).toBe(
      '{"stream":true,"stream_options":{"include_usage":true}}',
    )
    expect(splice('{"stream":true,"stream_options":null}')).toBe(
      '{"stream":true,"stream_options":{"include_usage":true}}',
    )
  })

  test.each([
    ['no stream', '{"model":"m"}'],
    ['stream false', '{"stream":false,"stream_options":{"include_usage":false}}'],
    ['asked already', '{"stream":true,"stream_options":{"include_usage":true}}'],
    ['a value that is not a boolean', '{"stream":true,"stream_options":{"include_usage":1}}'],
    ['include_usage twice', '{"stream":true,"stream_options":{"include_usage":false,"include_usage":false}}'],
    ['stream_options that are not an object', '{"stream":true,"stream_options":[]}'],
    ['stream twice', '{"stream":true,"stream":true}'],
    ['stream_options twice', '{"stream":true,"stream_options":{},"stream_options":{}}'],
    ['an unreadable body', '{"stream":true'],
    ['a stream inside another value', '{"x":{"stream":true}}'],
  ])('a request body with %s stays as it is', (_, body) => {
    expect(splice(body)).toBe(null)
  })

  test('the edited body is the same JSON plus include_usage', () => {
    const members = fc.dictionary(
      fc.constantFrom('model', 'messages', 'n', '__proto__', '"', 'ü'),
      fc.jsonValue(),
    )
    const options = fc.oneof(
      fc.constant(undefined),
      fc.constant(null),
      fc.dictionary(fc.constantFrom('include_obfuscation', 'x'), fc.jsonValue()),
      fc.record({ a: fc.jsonValue(), include_usage: fc.constantFrom(false, null) }),
    )
    fc.assert(
      fc.property(
        members,
        options,
        fc.nat(),
        fc.constantFrom(0, 1, '\t'),
        (rest, streamOptions, at, indent) => {
          const entries = Object.entries(rest)
          entries.splice(at % (entries.length + 1), 0, ['stream', true])
          if (streamOptions !== undefined) {
            entries.splice((at >> 3) % (entries.length + 1), 0, ['stream_options', streamOptions])
          }
          const body = JSON.stringify(Object.fromEntries(entries), null, indent)
          const edited = splice(body)
          const expected = JSON.parse(body)
          expected.stream_options = { ...expected.stream_options, include_usage: true }
          expect(JSON.parse(edited ?? '')).toEqual(expected)
        },
      ),
      { seed: 20_261_126 },
    )
  })
})

const chunkEvent =
  'data: {"id":"1","choices":[{"index":0,"delta":{"content":"\\"usage\\":{} naïve 😀"}}],"usage":null}'
const usageEvent =
  'data: {"id":"1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}'

/** What is in each part; `taken` parts must not come out. */
type Part = { readonly text: string; readonly taken: boolean }

function kept(text: string): Part {
  return { text, taken: false }
}

function taken(text: string): Part {
  return { text, taken: true }
}

function run(pieces: Buffer[]): Buffer {
  const filter = new UsageEventFilter()
  const out = pieces.flatMap((piece) => filter.push(piece))
  return Buffer.concat([...out, ...filter.end()])
}

function expectAtEverySplit(parts: readonly Part[]): void {
  const whole = Buffer.from(parts.map((part) => part.text).join(''))
  const expected = parts
    .filter((part) => !part.taken)
    .map((part) => part.text)
    .join('')
  expect(run([whole]).toString()).toBe(expected)
  expect(run([...whole].map((byte) => Buffer.from([byte]))).toString()).toBe(expected)
  for (let cut = 0; cut <= whole.length; cut++) {
    const out = run([whole.subarray(0, cut), whole.subarray(cut)])
    if (!out.equals(Buffer.from(expected))) expect(out.toString(), `cut at ${cut}`).toBe(expected)
  }
}

describe('taking the usage event out', () => {
  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('exactly the usage event is taken out, at every split, with line ends in %s', (_, eol) => {
    expectAtEverySplit([
      kept(`: comment${eol}${eol}`),
      kept(`event: x${eol}id: 7${eol}${chunkEvent}${eol}${eol}`),
      kept(`${chunkEvent}${eol}${eol}${eol}`),
      taken(`: OPENROUTER PROCESSING${eol}${usageEvent}${eol}${eol}`),
      kept(`data: [DONE]${eol}${eol}`),
    ])
  })

  test('the usage event is taken out where line ends are mixed', () => {
    expectAtEverySplit([
      kept(`${chunkEvent}\r\n\n`),
      taken(`${usageEvent}\n\r\n`),
      kept(`${chunkEvent}\r\r\n`),
      taken(`${usageEvent}\r\n\r`),
      kept(`${chunkEvent}\n\r`),
      kept('\n\r\n'),
      kept('data: [DONE]\n\n'),
    ])
  })

  test('the usage event is taken out where the last event lacks its blank line', () => {
    expectAtEverySplit([kept(`${chunkEvent}\n\n`), taken(usageEvent)])
    expectAtEverySplit([kept(`${chunkEvent}\n\n`), taken(`${usageEvent}\r`)])
    expectAtEverySplit([kept(`${chunkEvent}\n\n`), kept(chunkEvent)])
    expectAtEverySplit([taken(usageEvent)])
  })

  test('the usage event is found without a space after data, with spaces in the JSON, a byte order mark, or JSON over several lines', () => {
    const compact = 'data:{"usage" : { "prompt_tokens":1},"choices" : [ ] }'
    expectAtEverySplit([kept('data:1\n\n'), taken(`${compact}\n\n`), taken(`${usageEvent}   \n\n`)])
    expectAtEverySplit([taken(`\ufeff${usageEvent}\n\n`), kept(`${chunkEvent}\n\n`)])
    expectAtEverySplit([taken('data: {"choices": [\ndata: ],\ndata: "usage": {\ndata: "x": 1}}\n\n')])
  })

  test('an event that only looks like the usage event stays', () => {
    const azureFirst = '{"choices":[],"model":"","prompt_filter_results":[{"x":{"usage":{}}}]}'
    expectAtEverySplit([
      kept(`data: ${azureFirst}\n\n`),
      kept('data: {"choices":[],"usage":null}\n\n'),
      kept('data: {"choices":[]}\n\n'),
      kept('data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":5}}\n\n'),
      kept('data: {"usage":{"prompt_tokens":5}}\n\n'),
      kept('data: {"choices":[],"usage":{"prompt_tokens":5},"error":{"message":"overloaded"}}\n\n'),
      kept('data: {"choices":[],"usage":{"prompt_tokens":5}\n\n'),
      kept('data: {"choices":[],"usage":[]}\n\n'),
      kept('{"choices":[],"usage":{"prompt_tokens":5}}\n\n'),
      kept('data: "\\"choices\\":[],\\"usage\\":{}"\n\n'),
      kept('data: [DONE]\n\n'),
    ])
  })

  test('every usage event is taken out, and an x_groq or error event stays', () => {
    expectAtEverySplit([
      taken(`${usageEvent}\n\n`),
      kept('event: error\ndata: {"error":{"message":"x"}}\n\n'),
      taken(`${usageEvent}\n\n`),
      kept('data: {"choices":[],"x_groq":{"usage":{"total_tokens":1}}}\n\n'),
    ])
  })

  test('any stream in any pieces comes out whole but for the usage event', () => {
    const eol = fc.constantFrom('\n', '\r\n', '\r')
    const keptLine = fc.oneof(
      fc.constant(chunkEvent),
      fc.constant(': ping'),
      fc
        .string()
        .map((text) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }], usage: null })}`),
    )
    const event = fc.oneof(
      fc.tuple(fc.constant(false), keptLine, eol),
      fc.tuple(fc.constant(true), fc.constant(usageEvent), eol),
    )
    fc.assert(
      fc.property(fc.array(event), fc.array(fc.nat({ max: 60 }), { minLength: 1 }), (events, sizes) => {
        const whole = Buffer.from(events.map(([, line, end]) => line + end + end).join(''))
        const expected = events.map(([isUsage, line, end]) => (isUsage ? '' : line + end + end)).join('')
        const pieces: Buffer[] = []
        for (let at = 0, i = 0; at < whole.length; i++) {
          const size = (sizes[i % sizes.length] ?? 0) + 1
          pieces.push(whole.subarray(at, at + size))
          at += size
        }
        expect(run(pieces).toString()).toBe(expected)
      }),
      { numRuns: 500, seed: 20_261_126 },
    )
  })

  test('random bytes pass unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (pieces) => {
        const buffers = pieces.map((piece) => Buffer.from(piece))
        expect(run(buffers)).toEqual(Buffer.concat(buffers))
      }),
      { numRuns: 500, seed: 20_261_126 },
    )
  })
})

/** As the delivery does it: what the reader knows to be without usage is not looked at again. */
function runBehindReader(pieces: readonly Buffer[]): Buffer {
  const path = '/v1/chat/completions'
  const request = { method: 'POST', path, model: null, stream: true }
  const head = { status: 200, headers: { 'content-type': 'text/event-stream' } }
  const reader = selectDialect('openai', 'POST', path)?.createReader(request, head)
  const filter = new UsageEventFilter()
  const out = pieces.flatMap((piece) => {
    reader?.push(piece)
    return reader?.hasNoUsage === true && filter.passes(piece) ? [piece] : filter.push(piece)
  })
  return Buffer.concat([...out, ...filter.end()])
}

/** The filter's work on the whole text: line by line, each event parsed. */
function filtered(text: string): string {
  let out = ''
  let event = ''
  let data: string[] = []
  const finish = () => {
    if (!isTaken(data.join('\n'))) out += event
    event = ''
    data = []
  }
  for (const [line, , content = ''] of text.matchAll(/(([^\r\n]*)(?:\r\n|\n|\r)|[^\r\n]+$)/g)) {
    event += line
    const field = /^data: ?(.*)/s.exec(content || line)
    if (field !== null) data.push((field[1] ?? '').replace(/[\r\n]+$/, ''))
    if (/^[\r\n]+$/.test(line)) finish()
  }
  finish()
  return out
}

function isTaken(data: string): boolean {
  try {
    const { choices, usage, error = null } = JSON.parse(data)
    const isUsage = typeof usage === 'object' && usage !== null && !Array.isArray(usage)
    return isUsage && Array.isArray(choices) && choices.length === 0 && error === null
  } catch {
    return false
  }
}

test('whatever the lines, their ends and the pieces, the events that only report usage are taken out', () => {
  const line = fc.constantFrom(
    ...[usageEvent, usageEvent, chunkEvent, 'data: {"choices": [ ],"usage": {"a":1}}', 'data:', ': usage'],
    ...['data: {"choices":[\ndata: ],"usage":{}}', 'data: {"choices":[],"usage":{},"error":{}}'],
    ...['', '', '', '', 'data: [DONE]', 'event: x'],
  )
  const end = fc.constantFrom('\n', '\n', '\n', '\n', '\r\n', '\r')
  const ends = fc.oneof(fc.constant('\n'), fc.constant('\r\n'), fc.constant(null))
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, end), { maxLength: 16 }),
      ends,
      fc.array(fc.nat({ max: 900 }), { maxLength: 8 }),
      (lines, oneEnd, cuts) => {
        const text = Buffer.from(lines.map(([content, end]) => content + (oneEnd ?? end)).join(''))
        const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].sort((a, b) => a - b)
        const pieces = places.slice(1).map((to, index) => text.subarray(places[index], to))
        const expected = filtered(text.toString())
        expect(run(pieces).toString()).toBe(expected)
        expect(runBehindReader(pieces).toString()).toBe(expected)
      },
    ),
    { numRuns: rounds({ short: 1_000, long: 5_000 }), seed: 20_261_122 },
  )
})

describe('what is held', () => {
  test('a chunk of whole events that stay comes out as it is, not copied and not delayed', () => {
    const filter = new UsageEventFilter()
    const chunk = Buffer.from(`${chunkEvent}\n\n${chunkEvent}\n\n`)
    const [out, ...more] = filter.push(chunk)
    expect(out).toBe(chunk)
    expect(more).toEqual([])
  })

  test('only an unfinished event is held, as a view of the bytes that came', () => {
    const filter = new UsageEventFilter()
    const chunk = Buffer.from(`${chunkEvent}\n\n${chunkEvent}`)
    const out = filter.push(chunk)
    expect(Buffer.concat(out).toString()).toBe(`${chunkEvent}\n\n`)
    expect(out[0]?.buffer).toBe(chunk.buffer)
    expect(Buffer.concat(filter.push(Buffer.from('\n\n'))).toString()).toBe(`${chunkEvent}\n\n`)
    expect(filter.end()).toEqual([])
  })

  test('an event over 64 KiB is passed on at once, and the next ones are filtered again', () => {
    const filter = new UsageEventFilter()
    const piece = Buffer.from('x'.repeat(1000))
    let pushed = 0
    let passed = 0
    const pass = (bytes: Buffer) => {
      pushed += bytes.length
      for (const out of filter.push(bytes)) passed += out.length
      expect(pushed - passed).toBeLessThanOrEqual(64 * 1024)
    }
    pass(Buffer.from('data: '))
    for (let i = 0; i < 200; i++) pass(piece)
    expect(passed).toBe(pushed)
    expect(filter.push(Buffer.from('\n\n'))).toEqual([Buffer.from('\n\n')])
    expect(filter.push(Buffer.from(`${usageEvent}\n\n`))).toEqual([])
  })

  test('an empty chunk between CR and LF changes nothing', () => {
    const pieces = [`${chunkEvent}\r\n\r`, '', `\n${usageEvent}\r\n\r`, '', '\ndata: [DONE]\r\n\r\n']
    expect(run(pieces.map((piece) => Buffer.from(piece))).toString()).toBe(
      `${chunkEvent}\r\n\r\ndata: [DONE]\r\n\r\n`,
    )
  })
})
