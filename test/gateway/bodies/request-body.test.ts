import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scanRequestBody } from '../../../src/gateway/bodies/request-body.ts'
import { threadMs } from '../../support/patience.ts'
import { rounds } from '../../support/rounds.ts'

function scan(body: string | Buffer) {
  return scanRequestBody(typeof body === 'string' ? Buffer.from(body) : body)
}

describe('what stands in a body', () => {
  test('model, stream and stream_options are found wherever they stand at the top level', () => {
    const body =
      ' {"messages":[{"model":"inner","stream":false}],\n"stream" : true ,"x":-1.5e+3,"model":"gpt-4o","stream_options":{"a":{"include_usage":true},"include_usage" : false}}\r\n'
    const found = scan(body)
    expect(found).toMatchObject({ readable: true, model: 'gpt-4o', duplicateModel: false, stream: true })
    expect(body.slice(0, found.streamEnd)).toMatch(/"stream" : true$/)
    expect(body.slice(found.streamOptions?.start, found.streamOptions?.end)).toBe(
      '{"a":{"include_usage":true},"include_usage" : false}',
    )
    const asked = found.streamOptions?.includeUsage
    expect(asked?.value).toBe(false)
    expect(body.slice(asked?.start, asked?.end)).toBe('false')
  })

  test('keys and values written with escapes are read as what they mean', () => {
    expect(scan('{"mod\\u0065l":"gpt\\u002d4\\ud83d\\ude00"}')).toMatchObject({
      readable: true,
      model: 'gpt-4😀',
    })
    expect(scan('{"\\u0073tream":true}').stream).toBe(true)
    const key = [...'stream_options'].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')
    expect(scan(`{"${key}":null}`).streamOptions?.kind).toBe('null')
  })

  test('a model named twice is reported, also with an escape or another case in its key', () => {
    expect(scan('{"model":"a","model":"a"}').duplicateModel).toBe(true)
    expect(scan('{"model":"a","mod\\u0065l":"b"}').duplicateModel).toBe(true)
    expect(scan('{"\\u0073tore":true}').mayBeKept).toBe(true)
    expect(scan('{"store":false').mayBeKept).toBe(true)
    for (const key of ['Store', '\u017ftore', '\\u017ftore'])
      expect(scan(`{"${key}":true}`).mayBeKept, key).toBe(true)
    expect(scan('{"x":{"store":true},"metadata":"\\"store\\""}').mayBeKept).toBe(false)
    expect(scan('{"Model":"b","model":"a"}')).toMatchObject({ duplicateModel: true, model: 'a' })
    expect(scan('{"MODEL":"b"}')).toMatchObject({ duplicateModel: false, model: null })
    expect(scan('{"x":{"model":"b"},"model":"a"}').duplicateModel).toBe(false)
  })

  test('stream or stream_options written twice are reported', () => {
    expect(scan('{"stream":true,"stream":true}').duplicateStream).toBe(true)
    expect(scan('{"stream_options":{},"stream":true,"stream_options":null}').duplicateStream).toBe(true)
    expect(scan('{"stream_options":{},"stream":true}').duplicateStream).toBe(false)
  })

  test('keys that name more models are reported', () => {
    expect(scan('{"model":"a","models":["b"]}').namesOtherModels).toBe(true)
    expect(scan('{"model":"a","fallbacks":["b"]}').namesOtherModels).toBe(true)
    expect(scan('{"model":"a","x":{"models":["b"]}}').namesOtherModels).toBe(false)
  })

  test('a value of another type is not read as model or stream', () => {
    expect(scan('{"model":7,"stream":"true"}')).toMatchObject({ readable: true, model: null, stream: null })
    expect(scan('{"model":null,"stream":null}')).toMatchObject({ readable: true, model: null, stream: null })
    expect(scan('{"model":{"model":"x"},"stream":1}')).toMatchObject({ model: null, stream: null })
    expect(scan(`{"model":"${'m'.repeat(2000)}"}`)).toMatchObject({ readable: true, model: null })
  })

  test('the kinds of stream_options are distinguished', () => {
    const kinds = ['{}', '{ }', 'null', 'true', '[]', '"x"', '{"include_usage":1}'].map((value) => {
      const options = scan(`{"stream_options":${value}}`).streamOptions
      return [options?.kind, options?.empty, options?.includeUsage?.value]
    })
    expect(kinds).toEqual([
      ['object', true, undefined],
      ['object', true, undefined],
      ['null', true, undefined],
      ['other', true, undefined],
      ['other', true, undefined],
      ['other', true, undefined],
      ['object', false, 'other'],
    ])
  })
})

describe('what parsers read differently is not readable', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['an array', '[{"model":"a"}]'],
    ['a string', '"model"'],
    ['two objects', '{"model":"a"}{"model":"b"}'],
    ['trailing bytes', '{"model":"a"} x'],
    ['a trailing comma', '{"model":"a",}'],
    ['a missing comma', '{"model":"a" "x":1}'],
    ['a missing colon', '{"model" "a"}'],
    ['no value', '{"model":}'],
    ['a line comment', '{"model":"a" // "model":"b"\n}'],
    ['a comment in a nested value', '{"x":[1 /* ] */],"model":"a"}'],
    ['a single-quoted string', '{\'model\':"a"}'],
    ['a single-quoted string in a nested value', '{"x":[\'"\'],"model":"a"}'],
    ['a key without quotes', '{model:"a"}'],
    ['a cut string', '{"model":"a'],
    ['a cut escape', '{"model":"a\\'],
    ['a cut object', '{"model":"a","x":{"y":1}'],
    ['NUL between tokens', '{"model":"a",\0"x":1}'],
    ['UTF-16', Buffer.from('{"model":"a"}', 'utf16le').toString('latin1')],
  ])('a body that parsers read differently is not readable: %s', (_, body) => {
    expect(scan(body).readable).toBe(false)
  })

  test('a model with a raw control character is not read', () => {
    expect(scan('{"model":"a\nb"}').model).toBe(null)
  })
})

describe('harmless', () => {
  test('a byte order mark, __proto__, invalid UTF-8, NUL and lone surrogates are harmless in a body', () => {
    expect(scan('\ufeff{"model":"a"}')).toMatchObject({ readable: true, model: 'a' })
    expect(scan('{"__proto__":{"model":"b"},"constructor":1,"model":"a"}')).toMatchObject({
      readable: true,
      model: 'a',
    })
    expect(scan('{"model":"a\\u0000\\ud800"}').model).toBe('a\0\ud800')
    const bytes = Buffer.concat([
      Buffer.from('{"x":"'),
      Buffer.from([0xff, 0xc0, 0x80]),
      Buffer.from('","model":"a"}'),
    ])
    expect(scan(bytes)).toMatchObject({ readable: true, model: 'a' })
    expect('model' in {}).toBe(false)
  })

  test('a million open brackets cost no stack, a million quotes no time', () => {
    const started = threadMs()
    expect(scan(`{"x":${'['.repeat(1e6)}`).readable).toBe(false)
    expect(scan(`{"x":${'['.repeat(1e6)}${']'.repeat(1e6)},"model":"a"}`)).toMatchObject({
      readable: true,
      model: 'a',
    })
    expect(scan(`{"x":"${'\\"'.repeat(1e6)}","model":"a"}`).model).toBe('a')
    expect(scan(`{"x":"${'\\'.repeat(2e6)}","model":"a"}`).model).toBe('a')
    expect(scan(`{"x":"${`${' '.repeat(60)}\\\\\\"`.repeat(1e5)}","model":"a"}`).model).toBe('a')
    expect(scan('"'.repeat(1e6)).readable).toBe(false)
    expect(threadMs() - started).toBeLessThan(2000)
  })
})

describe('against JSON.parse', () => {
  const interesting = fc.constantFrom(
    'model',
    'stream',
    'stream_options',
    'messages',
    'Model',
    '',
    'a"b\\',
    'ключ',
  )
  const leaf = fc.oneof(fc.json({ maxDepth: 3 }), fc.constantFrom('true', 'false', 'null', '{}', '"gpt-4o"'))
  const space = fc.constantFrom('', ' ', '\n', '\t \r\n')

  test('any JSON object is readable, and model and stream are what the last such key says', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(interesting, leaf, space)), space, (members, edge) => {
        const inner = members.map(
          ([key, value, gap]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${value}${gap}`,
        )
        const body = `${edge}{${inner.join(',')}}${edge}`
        const parsed = JSON.parse(body)
        const found = scan(body)
        expect(found.readable).toBe(true)
        expect(found.model).toBe(typeof parsed.model === 'string' ? parsed.model : null)
        expect(found.stream).toBe(typeof parsed.stream === 'boolean' ? parsed.stream : null)
        expect(found.duplicateModel).toBe(members.filter(([key]) => key.toLowerCase() === 'model').length > 1)
        if (found.streamOptions !== null) {
          const text =
            body.slice(0) && Buffer.from(body).subarray(found.streamOptions.start, found.streamOptions.end)
          expect(JSON.parse(text.toString())).toEqual(parsed.stream_options)
        }
      }),
      { numRuns: rounds({ short: 250, long: 1_000 }), seed: 20_261_126 },
    )
  })

  test('a cut of any JSON object is not readable, and no bytes make it throw', () => {
    fc.assert(
      fc.property(fc.dictionary(interesting, fc.jsonValue()), fc.nat(), (object, cut) => {
        const body = Buffer.from(JSON.stringify(object))
        expect(scan(body.subarray(0, cut % body.length)).readable).toBe(false)
      }),
      { seed: 20_261_126 },
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const body = Buffer.concat([Buffer.from('{"model":"a","x":'), Buffer.from(bytes)])
        expect(scan(body).model).toBe('a')
      }),
      { numRuns: rounds({ short: 250, long: 1_000 }), seed: 20_261_126 },
    )
  })
})
