import fc from 'fast-check'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { OBJECT_KINDS } from '../../../src/call/object-event.ts'
import { FIELD_LIST, type FieldDescription } from '../../../src/call/record-fields.ts'
import { BILLED_UNITS, MAX_COUNT, NO_UNITS, NO_USAGE, TOKEN_CLASSES } from '../../../src/call/usage.ts'

const anyText = fc.string({ unit: 'binary' })

const counts = <Name extends string>(names: readonly Name[]) =>
  fc
    .array(fc.option(fc.integer({ min: 0, max: MAX_COUNT })), {
      minLength: names.length,
      maxLength: names.length,
    })
    .map((list) => Object.fromEntries(names.map((name, at) => [name, list[at]])))

/** What a gateway writes under the field, where it writes it. */
function anyValue({ form, highest = 0, words = [] }: FieldDescription): fc.Arbitrary<unknown> {
  switch (form) {
    case 'id':
      return fc.uuid({ version: 7 })
    case 'trace':
      return fc.stringMatching(/^[0-9a-f]{32}$/)
    case 'text':
      return anyText
    case 'word':
      return fc.constantFrom(...words)
    case 'pico':
      return fc.bigInt({ min: 0n, max: 10n ** 38n - 1n }).map(String)
    case 'time':
    case 'integer':
    case 'microseconds':
    case 'bytes':
      return fc.integer({ min: 0, max: highest })
    case 'flag':
      return fc.constant(true)
    case 'tokens':
      return counts(TOKEN_CLASSES)
    case 'units':
      return counts(BILLED_UNITS)
    // Lists have tests of their own.
    case 'list':
      return fc.constant(undefined)
    default:
      return form satisfies never
  }
}

/** What a record has in the field where its JSON lacks it. */
export function absentOf({ form, absent }: FieldDescription): unknown {
  switch (absent) {
    case 'null':
      return null
    case 'false':
      return false
    case 'none':
      return form === 'tokens' ? NO_USAGE : NO_UNITS
    case 'undefined':
    case 'never':
      return undefined
    default:
      return absent satisfies never
  }
}

/** A value that a record may have in the field. */
export function anyField(field: FieldDescription): fc.Arbitrary<unknown> {
  return field.absent === 'never' ? anyValue(field) : fc.oneof(fc.constant(absentOf(field)), anyValue(field))
}

/** Any record without lists: whatever its strings and numbers, and whichever of its fields it has. */
export const anyRecord = fc.record(
  Object.fromEntries(FIELD_LIST.map((field) => [field.name, anyField(field)])),
) as unknown as fc.Arbitrary<CallRecord>

export const anyObjectEvent = fc.record({
  id: fc
    .string({ minLength: 1, maxLength: 60, unit: 'grapheme' })
    .filter((id) => Buffer.byteLength(id) <= 256),
  kind: fc.constantFrom(...OBJECT_KINDS),
  is: fc.constantFrom('created' as const, 'ended' as const, 'deleted' as const),
  job: fc.boolean(),
})
