import { describe, expect, test } from 'vitest'
import { readRequestFields } from '../../../src/gateway/proxy/prepare-body.ts'
import type { JsonObject } from '../../../src/providers/reading/json-value.ts'
import { compileProjection } from '../../../src/providers/wires/json.ts'

const PLAN = compileProjection({ seconds: 'value', documents: ['length'] })

function fieldsOf(body: string, isWanted = () => true): Promise<JsonObject | null | 'gone'> {
  return new Promise((done) => readRequestFields('client', Buffer.from(body), PLAN, isWanted, done))
}

describe('what an endpoint wants to know of its request', () => {
  test('the wanted fields of a small body are read at once', () => {
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

  test('the wanted fields of a body of megabytes are read in slices, with the same result', async () => {
    const picture = 'x'.repeat(3_000_000)
    expect(await fieldsOf(JSON.stringify({ picture, seconds: 4, documents: ['ab', 'c'] }))).toEqual({
      seconds: 4,
      documents: [4, 3],
    })
  })

  test('a wanted field that a body has twice is in doubt', async () => {
    expect(await fieldsOf('{"seconds":4,"seconds":12}')).toBeNull()
    expect(await fieldsOf(`{"seconds":4,"x":"${'x'.repeat(400_000)}","seconds":12}`)).toBeNull()
  })

  test.each([
    'Seconds',
    'SECONDS',
    'seconds',
    '\u017feconds',
    '\\u0053econds',
    'ſeconds',
  ])('a wanted field that a server written in Go takes as well is in doubt: %s', async (name) => {
    expect(await fieldsOf(`{"seconds":4,"${name}":12}`)).toBeNull()
  })

  test('a body is not read on for wanted fields when its client has left', async () => {
    expect(await fieldsOf(`{"x":"${'x'.repeat(400_000)}","seconds":12}`, () => false)).toBe('gone')
  })
})
