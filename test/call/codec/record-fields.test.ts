import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { parseOpenCall, parseRecord, serialiseRecord } from '../../../src/call/codec/record-codec.ts'
import { FIELD_LIST, type FieldDescription } from '../../../src/call/record-fields.ts'
import { absentOf, anyField, anyRecord } from './any-record.ts'

/** The record's JSON as the table says it, by plain means: what the hand-written codec must equal. */
function jsonByTable(record: CallRecord): string {
  const json: Record<string, unknown> = {}
  for (const { name, form } of FIELD_LIST) {
    const value = record[name]
    if (value === null || value === undefined || value === false) continue
    if (form !== 'tokens' && form !== 'units') json[name] = value
    else {
      const counts = Object.entries(value).filter(([, count]) => count !== null)
      if (counts.length > 0) json[name] = Object.fromEntries(counts)
    }
  }
  return JSON.stringify(json)
}

const RECORDS = fc.sample(anyRecord, { seed: 7, numRuns: 20 })

/** A record with this field as it is, and the value of the field. */
function sampleOf(field: FieldDescription): CallRecord {
  if (field.form === 'list') return RECORDS[0] as CallRecord
  const [value] = fc.sample(
    anyField(field).filter((one) => one !== absentOf(field)),
    { seed: 5, numRuns: 1 },
  )
  return { ...(RECORDS[0] as CallRecord), [field.name]: value }
}

/** Values that no gateway writes under the field. */
function refusedBy({ form, highest = 0 }: FieldDescription): readonly unknown[] {
  switch (form) {
    case 'id':
      return ['x', '', 1, '0199C82C-7C00-7000-8000-000000000001']
    case 'trace':
      return ['x', '', 1, '0199C82C7C0070008000000000000001']
    case 'text':
      return [1, true, {}, ['a']]
    case 'word':
      return ['guessed', '', 1]
    case 'pico':
      return ['1.5', '-1', '01', '1'.repeat(39), '', 1]
    case 'time':
    case 'integer':
    case 'microseconds':
    case 'bytes':
      return [-1, 0.5, '1', true, highest + 1]
    case 'flag':
      return ['true', 1]
    case 'tokens':
    case 'units':
      return [[1], 1, 'x', null]
    case 'list':
      return [{}, 'x', [1], null]
    default:
      return form satisfies never
  }
}

test('any record is written as the table says', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      expect(serialiseRecord(record)).toBe(jsonByTable(record))
    }),
    { seed: 20_261_126 },
  )
})

describe.each(FIELD_LIST.map((field) => [field.name, field] as const))('the field %s', (name, field) => {
  test('is written as the table says, and read back', () => {
    const record = sampleOf(field)
    expect(serialiseRecord(record)).toBe(jsonByTable(record))
    expect(parseRecord(serialiseRecord(record))).toMatchObject({ [name]: record[name] })
  })

  test.each(refusedBy(field).map((value) => [value]))('is refused as %j', (value) => {
    const json = { ...JSON.parse(serialiseRecord(sampleOf(field))), [name]: value }
    expect(parseRecord(JSON.stringify(json))).toBeNull()
    if (field.part === 'open') expect(parseOpenCall(JSON.stringify(json))).toBeNull()
  })

  test('is read from a record that lacks it as the table says', () => {
    const json = JSON.parse(serialiseRecord(sampleOf(field))) as Record<string, unknown>
    delete json[name]
    const record = parseRecord(JSON.stringify(json))
    if (field.absent === 'never') expect(record).toBeNull()
    else expect(record === null || 'void' in record ? 'none' : record[name]).toBe(absentOf(field))
  })
})
