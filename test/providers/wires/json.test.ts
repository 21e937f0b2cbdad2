import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileProjection, JsonScanner, type ProjectionSpec } from '../../../src/providers/wires/json.ts'
import { scanJson } from '../../../src/providers/wires/scan-json.ts'
import { rounds } from '../../support/rounds.ts'

const SPEC = {
  model: 'value',
  usage: 'usage',
  nested: { usage: 'usage', items: [{ type: 'value' }] },
  list: ['value'],
  seen: [{}],
} as const satisfies ProjectionSpec

const PROJECTION = compileProjection(SPEC)

/** What should be kept, by parsing the whole text: the slow way that the scanner must agree with. */
function prune(value: unknown, wanted: ProjectionSpec): unknown {
  if (wanted === 'value' || wanted === 'usage') return value
  if (Array.isArray(wanted)) {
    if (!Array.isArray(value)) return undefined
    const [inner] = wanted
    return value.map((element) => prune(element, inner)).filter((element) => element !== undefined)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([key, inner]) => {
      const member: unknown = Object.getOwnPropertyDescriptor(value, key)?.value
      const kept = prune(member, inner)
      return member === undefined || kept === undefined ? [] : [[key, kept]]
    }),
  )
}

function scanInPieces(text: Buffer, pieceBytes: number): unknown {
  const scanner = new JsonScanner(PROJECTION)
  for (let at = 0; at < text.length; at += pieceBytes) {
    const piece = Buffer.from(text.subarray(at, at + pieceBytes))
    scanner.push(piece)
    piece.fill(0x22)
  }
  scanner.end()
  return scanner.extracted.value
}

const projectedKey = fc.constantFrom('model', 'usage', 'nested', 'items', 'type', 'list', 'seen')

const documents = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.constantFrom('"usage":{"prompt_tokens":1}', '\\', '\\"', 'back\\\\"slash', '}]{["'),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.oneof(projectedKey, fc.string({ maxLength: 8 })), tie('value'), { maxKeys: 6 }),
})).object

describe('a JSON document read as it passes', () => {
  test('a JSON document read as it passes keeps what parsing the whole document and picking by path would keep, whatever the pieces', () => {
    fc.assert(
      fc.property(
        documents,
        fc.nat({ max: 2 }),
        fc.integer({ min: 1, max: 40 }),
        (document, indent, pieceBytes) => {
          const text = Buffer.from(JSON.stringify(document, null, indent))
          const kept = prune(JSON.parse(text.toString()), SPEC)
          expect(scanJson(text, PROJECTION).value).toEqual(kept)
          expect(scanInPieces(text, pieceBytes)).toEqual(kept)
        },
      ),
      { numRuns: rounds({ short: 600, long: 3_000 }), seed: 20_261_121 },
    )
  })

  test('a JSON document read as it passes gives the text of the last usage that is not null, byte for byte', () => {
    const text = '{"usage": {"a" : 28.0 , "b":"\u00e9"},"nested":{"usage":null}}'
    expect(scanJson(Buffer.from(text), PROJECTION).raw).toBe('{"a" : 28.0 , "b":"\u00e9"}')
  })

  test('a JSON document read as it passes knows a key written with escapes', () => {
    expect(scanJson(Buffer.from('{"us\\u0061ge":{"n":1}}'), PROJECTION).value).toEqual({ usage: { n: 1 } })
  })

  test('a JSON document read as it passes takes the later of two members of the same name, as JSON.parse does', () => {
    expect(scanJson(Buffer.from('{"model":"a","model":"b"}'), PROJECTION).value).toEqual({ model: 'b' })
  })

  test('a JSON document read as it passes looks past a byte order mark and kilobytes of white space', () => {
    const text = `\ufeff${' \n'.repeat(1500)}{"model":"m"}`
    expect(scanJson(Buffer.from(text), PROJECTION).value).toEqual({ model: 'm' })
  })

  test('a JSON document read as it passes ignores what follows the document', () => {
    expect(scanJson(Buffer.from('{"model":"m"} {"model":"n"}]'), PROJECTION).value).toEqual({ model: 'm' })
  })

  test('a JSON document read as it passes keeps what was complete before the text broke off', () => {
    const text = '{"usage":{"n":1},"model":"cut of'
    expect(scanJson(Buffer.from(text), PROJECTION).value).toEqual({ usage: { n: 1 } })
  })

  test('a JSON document read as it passes flags a value that is too long to keep and goes on', () => {
    const text = `{"model":"${'m'.repeat(10_000)}","usage":{"n":1}}`
    expect(scanJson(Buffer.from(text), PROJECTION).value).toEqual({ model: true, usage: { n: 1 } })
  })

  test('a JSON document read as it passes keeps a usage object of many kilobytes', () => {
    const usage = {
      iterations: Array.from({ length: 200 }, (_, n) => ({ type: 'message', input_tokens: n })),
    }
    expect(scanJson(Buffer.from(JSON.stringify({ usage })), PROJECTION).value).toEqual({ usage })
  })

  test('a JSON document read as it passes is not exhausted by depth', () => {
    const deep = Buffer.from(`{"x":${'['.repeat(200_000)}${']'.repeat(200_000)},"model":"m"}`)
    expect(scanJson(deep, PROJECTION).value).toEqual({ model: 'm' })
  })

  test('a JSON document read as it passes keeps no more than a bound of what a hostile document wants it to keep', () => {
    const element = `{"type":"${'t'.repeat(4000)}"}`
    const text = Buffer.from(`{"nested":{"items":[${Array(5000).fill(element).join(',')}]}}`)
    const kept = JSON.stringify(scanJson(text, PROJECTION).value)
    expect(kept.length).toBeLessThan(200_000)
  })
})

describe('what is kept of a request', () => {
  const REQUEST = compileProjection({
    input: 'text',
    n: 'value',
    documents: ['length'],
    config: { n: 'value' },
  })

  function scanRequest(text: string, pieceBytes: number): JsonScanner {
    const scanner = new JsonScanner(REQUEST, true)
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes))
    scanner.end()
    return scanner
  }

  test('a wanted length is that of the value as it is written, whatever it is and whatever the pieces', () => {
    const body = '{"documents":["a\\"b" ,{"text":"}]"},[1, 2],12.5,true], "n":1}'
    for (const pieceBytes of [1, 2, 3, 7, 100]) {
      expect(scanRequest(body, pieceBytes).extracted.value).toEqual({ documents: [6, 13, 6, 4, 4], n: 1 })
    }
  })

  test('a text is kept up to 64 KiB, a longer one is given as true', () => {
    const input = 'é'.repeat(32_000)
    expect(scanRequest(JSON.stringify({ input }), 1000).extracted.value).toEqual({ input })
    expect(scanRequest(JSON.stringify({ input: `${input}${input}` }), 1000).extracted.value).toEqual({
      input: true,
    })
  })

  test('a strict scan reports a wanted key that stands twice in one object, and no other', () => {
    expect(scanRequest('{"n":1,"\\u006e":2}', 4).isAmbiguous).toBe(true)
    expect(scanRequest('{"config":{"n":1},"config":{}}', 4).isAmbiguous).toBe(true)
    expect(scanRequest('{"n":1,"config":{"n":2},"x":1,"x":2}', 4).isAmbiguous).toBe(false)
  })
})

describe('an array whose objects are passed on', () => {
  const wanted = compileProjection({ id: 'value', results: [{ name: 'value', usage: 'usage' }, 'passed_on'] })

  function passedOn(text: string, pieceBytes: number) {
    const found: unknown[] = []
    const scanner = new JsonScanner(wanted, false, null, (element) => found.push(element))
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes))
    scanner.end()
    return { found, whole: scanner.extracted.value }
  }

  test('gives each once it has ended, with the text of its own usage, and keeps none', () => {
    const body =
      '{"metadata":{"results":[{"name":"x"}]},"results":[{"name":"a","usage":{"n":1 }},7,{"name":"b"},{}],"id":"i"}'
    for (const pieceBytes of [1, 2, 3, 7, 1_000]) {
      expect(passedOn(body, pieceBytes)).toEqual({
        found: [
          { value: { name: 'a', usage: { n: 1 } }, raw: '{"n":1 }' },
          { value: { name: 'b' }, raw: null },
          { value: {}, raw: null },
        ],
        whole: { results: [], id: 'i' },
      })
    }
  })

  test('gives all of any number, each with as much as is kept of a document', () => {
    const name = 'n'.repeat(4_000)
    const body = JSON.stringify({ results: Array.from({ length: 2_000 }, () => ({ name })) })
    const { found } = passedOn(body, 65_536)
    expect(found).toHaveLength(2_000)
    expect(found.at(-1)).toEqual({ value: { name }, raw: null })
  })
})
