import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { parseOpenCall, serialiseOpenCall } from '../../src/call/codec/record-codec.ts'
import { MAX_COUNT } from '../../src/call/usage.ts'
import {
  encodeEntry,
  parseEntry,
  parseRecord,
  serialiseGapMarker,
  serialiseRecord,
  tagDatabase,
} from '../../src/ledger/entry.ts'
import { anyObjectEvent, anyRecord } from '../call/codec/any-record.ts'

const PRODUCER = '0123456789abcdef0123456789abcdef'

const oneRecord = (): CallRecord => fc.sample(anyRecord, { seed: 7, numRuns: 1 })[0] as CallRecord

describe('a record', () => {
  test('a record says what its call did to objects only where it did something', () => {
    fc.assert(
      fc.property(anyRecord, fc.array(anyObjectEvent, { maxLength: 5 }), (one, objects) => {
        const said = { ...one, objects }
        expect(parseRecord(serialiseRecord(said))).toEqual(said)
        expect(serialiseRecord(one)).not.toContain('"objects"')
      }),
      { seed: 20_261_126 },
    )
  })

  test.each([
    '{}',
    '[{"id":"","kind":"file","is":"created"}]',
    '[{"id":"a","kind":"secret","is":"created"}]',
    '[{"id":"a","kind":"file","is":"stolen"}]',
    '[{"id":"a","kind":"file","is":"created","job":1}]',
    `[${Array(1_025).fill('{"id":"a","kind":"file","is":"created"}').join()}]`,
  ])('a record with objects %s is not a record', (objects) => {
    const written = serialiseRecord(oneRecord())
    expect(parseRecord(`${written.slice(0, -1)},"objects":${objects}}`)).toBeNull()
  })

  test('a record comes back as it was, whatever its strings and numbers', () => {
    fc.assert(
      fc.property(anyRecord, (one) => {
        expect(parseRecord(serialiseRecord(one))).toEqual(one)
      }),
      { seed: 20_261_126 },
    )
  })

  test('a record is JSON without nulls', () => {
    fc.assert(
      fc.property(anyRecord, (one) => {
        const written = JSON.parse(serialiseRecord(one)) as object
        expect(JSON.stringify(written)).not.toMatch(/:null[,}]/)
      }),
      { seed: 20_261_126 },
    )
  })

  test('a record that is open comes back as it was', () => {
    fc.assert(
      fc.property(anyRecord, (one) => {
        const open = parseOpenCall(serialiseOpenCall(one))
        expect(open).not.toBeNull()
        expect(one).toMatchObject(open ?? {})
      }),
      { seed: 20_261_126 },
    )
  })

  test.each([
    ['not JSON', '{"callId":'],
    ['not an object', '[1]'],
    ['null', 'null'],
    ['without fields', '{}'],
  ])('a record that is %s is refused', (_, body) => {
    expect(parseRecord(body)).toBeNull()
  })

  test.each([
    ['a call id of another form', { callId: 'x' }],
    ['a negative count', { usage: { inputTokens: -1 } }],
    ['a fractional count', { usage: { inputTokens: 1.5 } }],
    ['a count beyond what one call can have', { usage: { inputTokens: MAX_COUNT + 1 } }],
    ['a count that is a string', { units: { images: '1' } }],
    ['usage that is a list', { usage: [1] }],
    ['a cost that is no integer', { costPico: '1.5' }],
    ['a cost that is negative', { costPico: '-1' }],
    ['a cost wider than the column', { costPico: '1'.repeat(39) }],
    ['an outcome not known', { outcome: 'lost' }],
    ['a usage source not known', { usageSource: 'guessed' }],
    ['a time before 1970', { arrivedAtMs: -1 }],
    ['a time without a four-digit year', { arrivedAtMs: 253_402_300_800_000 }],
    ['no model', { model: undefined }],
    ['a status that is text', { status: '200' }],
    ['a use of its response that is not known', { responseUse: 'guessed' }],
    ['a reason that is not a string', { unpricedReason: 1 }],
    ['a latency that is not a number', { latencyUs: 'NaN' }],
  ])('a record with %s is refused', (_, change) => {
    expect(parseRecord(JSON.stringify({ ...oneRecord(), ...change }))).toBeNull()
  })

  test('a record with a field of a later release is read', () => {
    expect(parseRecord(JSON.stringify({ ...oneRecord(), later: 1 }))).toEqual(oneRecord())
  })
})

describe('a gap marker', () => {
  test('a gap marker comes back as it was', () => {
    expect(parseRecord(serialiseGapMarker(3, 9, 'journal_pruned'))).toEqual({
      void: { from: 3, to: 9, reason: 'journal_pruned' },
    })
  })

  test.each([
    ['{"void":{"from":4,"to":3,"reason":"x"}}'],
    ['{"void":{"from":0,"to":3,"reason":"x"}}'],
    ['{"void":{"from":1,"to":3}}'],
    ['{"void":7}'],
  ])('a gap marker that makes no sense is refused: %s', (body) => {
    expect(parseRecord(body)).toBeNull()
  })
})

describe('an entry', () => {
  test('an entry comes back as it was, its fields in any order', () => {
    fc.assert(
      fc.property(anyRecord, fc.integer({ min: 1 }), (one, sequence) => {
        const body = serialiseRecord(one)
        const fields = encodeEntry(PRODUCER, sequence, body)
        const turned = [8, 2, 0, 6, 4].flatMap((at) => fields.slice(at, at + 2))
        const expected = { kind: 'entry', producer: PRODUCER, sequence, body, database: null }
        expect(parseEntry(fields)).toEqual(expected)
        expect(parseEntry(turned)).toEqual(expected)
      }),
      { seed: 20_261_126 },
    )
  })

  test('an entry has the checksum that other languages compute: CRC-32 of p:s:v:r', () => {
    expect(encodeEntry(PRODUCER, 1, '{}')).toEqual([
      'p',
      PRODUCER,
      's',
      '1',
      'v',
      '1',
      'c',
      'ef0fcf77',
      'r',
      '{}',
    ])
  })

  test('an entry carries the identity of its database behind what older workers read, and outside their checksum', () => {
    const tagged = encodeEntry(PRODUCER, 1, '{}', tagDatabase('1760000000.123456'))
    expect(tagged).toEqual([...encodeEntry(PRODUCER, 1, '{}'), 'd', '1760000000.123456:e1d6acdb'])
    expect(parseEntry(tagged)).toEqual({
      kind: 'entry',
      producer: PRODUCER,
      sequence: 1,
      body: '{}',
      database: '1760000000.123456',
    })
  })

  test('an entry whose identity was changed in any one character is corrupt, never of another database', () => {
    const fields = encodeEntry(PRODUCER, 1, '{}', tagDatabase('1760000000.123456'))
    const tag = fields.at(-1) ?? ''
    for (let at = 0; at < tag.length; at++) {
      const other = tag[at] === '2' ? '3' : '2'
      const damaged = fields.with(-1, tag.slice(0, at) + other + tag.slice(at + 1))
      expect(parseEntry(damaged)).toEqual({ kind: 'corrupt' })
      expect(parseEntry(fields)).toMatchObject({ database: '1760000000.123456' })
    }
    for (const text of ['', ':', ':00000000', '1760000000.123456', '1760000000.123456:'])
      expect(parseEntry(fields.with(-1, text))).toEqual({ kind: 'corrupt' })
  })

  test('an entry with any one character changed is corrupt, never newer', () => {
    const fields = encodeEntry(PRODUCER, 12, '{"a":1}')
    for (let field = 1; field < fields.length; field += 2) {
      const value = fields[field] ?? ''
      for (let at = 0; at < value.length; at++) {
        const other = value[at] === '2' ? '3' : '2'
        const damaged = fields.with(field, value.slice(0, at) + other + value.slice(at + 1))
        expect(parseEntry(damaged)).toEqual({ kind: 'corrupt' })
      }
    }
  })

  test('an entry that lacks a field, or is of another kind altogether, is corrupt', () => {
    const fields = encodeEntry(PRODUCER, 12, '{"a":1}')
    for (let at = 0; at < fields.length; at += 2) {
      expect(parseEntry(fields.toSpliced(at, 2))).toEqual({ kind: 'corrupt' })
    }
    expect(parseEntry([])).toEqual({ kind: 'corrupt' })
    expect(parseEntry(['hello'])).toEqual({ kind: 'corrupt' })
  })

  test('an entry of a later version is newer, so that it is left for a newer worker', () => {
    expect(parseEntry(['p', PRODUCER, 's', '1', 'v', '2', 'c', 'fdba6099', 'r', '{}'])).toEqual({
      kind: 'newer',
    })
  })
})
