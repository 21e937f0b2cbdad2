// @seconds: two readers read each random document, in pieces
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileProjection, JsonScanner } from '../../../src/providers/wires/json.ts'
import { readPlainJson } from '../../../src/providers/wires/plain-json.ts'
import { heldMemory } from '../../support/memory.ts'
import { threadMs } from '../../support/patience.ts'
import { rounds } from '../../support/rounds.ts'

const PROJECTION = compileProjection({
  model: 'value',
  usage: 'usage',
  long: 'text',
  size: 'length',
  nested: { usage: 'usage', items: [{ type: 'value', usage: 'usage' }] },
  list: ['value'],
  sizes: ['length'],
  seen: [{}],
})

const keys = fc.oneof(
  fc.constantFrom('model', 'usage', 'long', 'size', 'nested', 'items', 'type', 'list', 'sizes', 'seen'),
  fc.constantFrom('us\\u0061ge', 'model\\', '__proto__', 'usage"', '\ud800', 'modél'),
  fc.string({ maxLength: 6 }),
)

const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false, 0, -1.5e300),
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.constantFrom('"usage":{"n":1}', '\\', '\\"', 'a\\\\"b', '}]{["', '\ud800', 'é', 'x'.repeat(5000), ''),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 20, maxLength: 40 }),
    tie('object'),
    tie('object'),
  ),
  object: fc.dictionary(keys, tie('value'), { maxKeys: 7 }),
}))

/** What breaks JSON, or makes it another document. */
const snippets = fc.constantFrom(
  ...['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\n', '\u0000', 'nul', 'null', '1', '-', '\xff', '\xe9'],
  ...['"usage":{"n":1},', '"usage":null,', '"usage":"', '"m\\u006fdel":"x",', '"model":"later",', '/**/'],
  ...['"seen":[{}],', '"nested":5,', '"list":["\\ud800","\\"",', ',,', '"size":[1, "]"],', '\ufeff'],
)
const edits = fc.array(fc.record({ at: fc.nat({ max: 4000 }), drop: fc.nat({ max: 3 }), put: snippets }), {
  maxLength: 4,
})

/** `undefined`: it is left to the scanner. */
function plain(bytes: Buffer): unknown {
  const document = readPlainJson(bytes, PROJECTION)
  return document === null ? undefined : { ...document.extracted, revision: document.revision }
}

function scanned(bytes: Buffer): unknown {
  const scanner = new JsonScanner(PROJECTION)
  scanner.push(bytes)
  scanner.end()
  return { ...scanner.extracted, revision: scanner.revision }
}

describe('a JSON document read in one go', () => {
  test('a JSON document read in one go gives what the scanner gives, of any document', () => {
    let read = 0
    fc.assert(
      fc.property(values.object, fc.nat({ max: 2 }), (document, indent) => {
        const bytes = Buffer.from(JSON.stringify(document, null, indent))
        const found = plain(bytes)
        if (found === undefined) return
        read += 1
        expect(found).toStrictEqual(scanned(bytes))
      }),
      { numRuns: rounds({ short: 600, long: 3_000 }), seed: 20_261_122 },
    )
    expect(read).toBeGreaterThan(200)
  })

  test('a JSON document read in one go gives what the scanner gives, or nothing, of broken documents', () => {
    let read = 0
    fc.assert(
      fc.property(values.object, edits, fc.nat({ max: 2 }), (document, changes, indent) => {
        let text = Buffer.from(JSON.stringify(document, null, indent))
        for (const { at, drop, put } of changes) {
          const from = at % (text.length + 1)
          text = Buffer.concat([
            text.subarray(0, from),
            Buffer.from(put, 'latin1'),
            text.subarray(from + drop),
          ])
        }
        const found = plain(text)
        if (found === undefined) return
        read += 1
        expect(found).toStrictEqual(scanned(text))
      }),
      { numRuns: rounds({ short: 1_200, long: 6_000 }), seed: 20_261_122 },
    )
    expect(read).toBeGreaterThan(200)
  })

  const hostile: readonly (readonly [name: string, text: string])[] = [
    ['two members of a name', '{"usage":{"n":1},"model":"a","usage":{"n":2},"model":"b"}'],
    ['a name inside a text', '{"x":"\\"usage\\":{\\"n\\":1}","usage":{"n":2}}'],
    ['a name inside another object', '{"x":{"usage":{"n":1}},"y":[{"usage":{"n":3}}]}'],
    ['a text that ends in backslashes', '{"x":"\\\\\\\\","usage":{"n":2},"y":"\\\\\\""}'],
    ['a lone surrogate', '{"model":"\\ud800","usage":{"\\udc00":1}}'],
    ['bytes that are not UTF-8', '{"model":"\xff\xfe","usage":{"\xe9":1}}'],
    ['a control character', '{"model":"a\u0001b","usage":{"n":2}}'],
    ['a usage that is not an object', '{"usage":"x","nested":{"usage":[1]}}'],
    ['null after a usage', '{"usage":{"n":1},"nested":{"usage":null}}'],
    ['words and numbers that are none', '{"model":nul,"usage":01,"list":[tru,-,1e999]}'],
    ['what follows the document', '{"model":"m"} {"model":"n"}'],
    ['more elements than are kept', `{"list":[${Array(2000).fill('"e"').join(',')}]}`],
    ['a value too long to be kept', `{"model":"${'m'.repeat(5000)}","usage":{"n":1}}`],
    [
      'more than is kept of a document',
      `{"list":[${Array(300)
        .fill(`"${'é'.repeat(100)}"`)
        .join(',')}]}`,
    ],
  ]
  for (const [name, text] of hostile) {
    test(`a JSON document read in one go gives what the scanner gives, with ${name}`, () => {
      const bytes = Buffer.from(text, 'latin1')
      // Twice: texts of a document before are kept for the next.
      for (let round = 0; round < 2; round += 1) {
        expect([scanned(bytes), undefined]).toContainEqual(plain(bytes))
      }
    })
  }

  test('a JSON document read in one go is one that has its end', () => {
    const text = '{"model":"m","x":{"a":[1,2,{}]},"usage":{"n":1}}'
    for (let end = 0; end < text.length; end += 1) {
      expect(readPlainJson(Buffer.from(text.slice(0, end)), PROJECTION)).toBeNull()
    }
    expect(plain(Buffer.from(` \n${text} \r\n`))).toStrictEqual(scanned(Buffer.from(text)))
  })

  test('a document that is mostly one text or one list of numbers gives the same in one go and in any pieces', () => {
    const numbers = Array.from({ length: 2_000 }, (_, index) => Math.sin(index))
    for (const long of ['word '.repeat(4_000), numbers, [[numbers, numbers, { a: [1] }], 'behind']]) {
      const kept = { model: 'm', usage: { n: 1 } }
      const bytes = Buffer.from(JSON.stringify({ ...kept, unread: long, list: ['e'] }))
      expect(plain(bytes)).toStrictEqual(scanned(bytes))
      for (const pieceBytes of [bytes.length, 16_384, 1_460, 100, 7]) {
        const scanner = new JsonScanner(PROJECTION)
        for (let at = 0; at < bytes.length; at += pieceBytes)
          scanner.push(bytes.subarray(at, at + pieceBytes))
        expect(scanner.extracted).toStrictEqual({ value: { ...kept, list: ['e'] }, raw: '{"n":1}' })
      }
    }
  })

  test('a JSON document read in one go or in pieces is passed over in linear time, whatever it is made of', () => {
    const lists = [`[${'1,'.repeat(40)}"\\\\",{}`, '"\\"', '{"a":[', '\\', '[1,'.repeat(20), '"'.repeat(3)]
    for (const piece of lists) {
      const text = `{"x":${piece.repeat(Math.floor(60_000 / piece.length))}}`
      const begin = threadMs()
      plain(Buffer.from(text))
      scanned(Buffer.from(text))
      expect(threadMs() - begin).toBeLessThan(200)
    }
  })

  test('what was read of a document keeps neither its text nor its bytes', () => {
    const text = JSON.stringify({ model: 'm', unread: 'word '.repeat(12_000), usage: { n: 1 } })
    const before = heldMemory()
    const read = Array.from({ length: 100 }, () => readPlainJson(Buffer.from(text), PROJECTION))
    const after = heldMemory()
    expect(read.every((document) => document?.extracted.raw === '{"n":1}')).toBe(true)
    expect(after.heapUsed - before.heapUsed).toBeLessThan((read.length * text.length) / 4)
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan((read.length * text.length) / 4)
  })
})
