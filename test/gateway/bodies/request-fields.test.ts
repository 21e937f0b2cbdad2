import { describe, expect, test } from 'vitest'
import { readRequestFields } from '../../../src/gateway/bodies/request-fields.ts'
import type { JsonObject } from '../../../src/providers/reading/json-value.ts'
import { compileProjection } from '../../../src/providers/wires/json.ts'

const PLAN = compileProjection({ seconds: 'value', documents: ['length'] })

function fieldsOf(body: string, isWanted = () => true): Promise<JsonObject | null | 'gone'> {
  return new Promise((done) => readRequestFields('client', Buffer.from(body), PLAN, isWanted, done))
}

describe('what an endpoint wants to know of its request', () => {
  test('is read of a small body at once', () => {
    let read: unknown
    readRequestFields(
      'client',
      Buffer.from('{"seconds":"8"}'),
      PLAN,
      () => true,
      (fields) => {
        read = fields
      },
    )
    expect(read).toEqual({ seconds: '8' })
  })

  test('is read of a body of megabytes in slices, and the same', async () => {
    const picture = 'x'.repeat(3_000_000)
    expect(await fieldsOf(JSON.stringify({ picture, seconds: 4, documents: ['ab', 'c'] }))).toEqual({
      seconds: 4,
      documents: [4, 3],
    })
  })

  test('is in doubt where a field stands there twice', async () => {
    expect(await fieldsOf('{"seconds":4,"seconds":12}')).toBeNull()
    expect(await fieldsOf(`{"seconds":4,"x":"${'x'.repeat(400_000)}","seconds":12}`)).toBeNull()
  })

  test('is not read on for a client that left', async () => {
    expect(await fieldsOf(`{"x":"${'x'.repeat(400_000)}","seconds":12}`, () => false)).toBe('gone')
  })
})
