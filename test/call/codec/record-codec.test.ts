import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  parseOpenCall,
  parseRecord,
  serialiseGapMarker,
  serialiseOpenCall,
  serialiseRecord,
} from '../../../src/call/codec/record-codec.ts'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import { GOLDEN_RECORDS, OPEN, SPARSE } from './golden-records.ts'

/** Lines of a file beside this one, each split at its tabs: JSON has none. */
function linesOf(name: string): string[][] {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8')
  return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')]))
}

const GOLDEN_BYTES = new Map(linesOf('golden-records.tsv').map(([name = '', text = '']) => [name, text]))

test('the file of golden bytes has every golden record', () => {
  expect([...GOLDEN_BYTES.keys()]).toEqual(Object.keys(GOLDEN_RECORDS))
})

describe.each(Object.entries(GOLDEN_RECORDS))('the record %s', (name, record) => {
  const bytes = GOLDEN_BYTES.get(name) ?? ''

  test(`the record ${name} is written with the bytes that earlier releases write`, () => {
    expect(serialiseRecord(record)).toBe(bytes)
  })

  test(`the record ${name} is read back as it was`, () => {
    expect(parseRecord(bytes)).toEqual(record)
  })

  test(`the record ${name} begins with the bytes of its open call`, () => {
    const open = serialiseOpenCall(record)
    expect(bytes.startsWith(open.slice(0, -1))).toBe(true)
    expect(serialiseRecord(record, open)).toBe(bytes)
    const read = parseOpenCall(open)
    expect(read?.callId).toBe(record.callId)
    expect({ ...record, ...read }).toEqual(record)
  })
})

test.each(linesOf('older-records.tsv'))('%s, is read as the same record', (_, older = '', today = '') => {
  const record = parseRecord(older)
  expect(record).not.toBeNull()
  expect(record).toEqual(parseRecord(today))
  expect(record === null || 'void' in record ? null : serialiseRecord(record)).toBe(today)
})

test('counts that a record does not have are those of every such record', () => {
  const record = parseRecord(serialiseRecord(SPARSE))
  expect(record).toHaveProperty('usage', NO_USAGE)
  expect(record !== null && 'usage' in record && record.usage === NO_USAGE).toBe(true)
  expect(record !== null && 'units' in record && record.units === NO_UNITS).toBe(true)
})

test('open calls and gap markers are written with the bytes that earlier releases write', () => {
  expect(serialiseOpenCall({ ...OPEN, requestedModel: 'gpt-4o', webSocket: true })).toBe(
    '{"callId":"0199c82c-7c00-7000-8000-000000000001","arrivedAtMs":1760000000000,"clientId":"client_1",' +
      '"keyId":"key_1","upstream":"openai","provider":"openai","method":"POST",' +
      '"path":"/v1/chat/completions","requestedModel":"gpt-4o","webSocket":true}',
  )
  expect(serialiseGapMarker(3, 9, 'journal "pruned"')).toBe(
    JSON.stringify({ void: { from: 3, to: 9, reason: 'journal "pruned"' } }),
  )
})
