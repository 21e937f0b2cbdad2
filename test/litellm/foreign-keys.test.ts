import { createHash } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { createKey, hashKey, hashKeyHash, withoutKeys } from '../../src/domain/api-key.ts'
import type { KeyRecord } from '../../src/keys/key-records.ts'
import { KeyTable } from '../../src/keys/key-table.ts'

const PEPPER = 'pepper of this test'
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')

function record(id: string, digest: Buffer, isForeign: boolean): KeyRecord {
  return {
    keyId: id,
    keyName: 'default',
    clientId: 'cli_1',
    clientName: 'acme',
    digest,
    digestOf: isForeign ? 'sha256' : 'key',
    models: null,
    expiresAtMs: null,
    revoked: false,
    clientDisabled: false,
    signing: null,
  }
}

describe('a key that another gateway made', () => {
  test('is found by its hash while it is there, and not when it is gone', () => {
    const table = new KeyTable(['another', PEPPER])
    table.beginReading()
    table.update([record('key_1', hashKeyHash(sha256('sk-1'), PEPPER), true)], 0)
    table.endReading()
    expect(table.find('sk-1', 0)).toMatchObject({ kind: 'active', caller: { keyId: 'key_1' } })
    expect(table.size).toBe(1)
    table.beginReading()
    expect(table.endReading()).toEqual(['key_1'])
    expect(table.find('sk-1', 0)).toEqual({ kind: 'unknown' })
  })

  test('is not found by the hash that its gateway keeps, nor by a text of another form', () => {
    const table = new KeyTable([PEPPER])
    const own = createKey()
    table.update(
      [
        record('key_1', hashKeyHash(sha256('sk-1'), PEPPER), true),
        record('key_2', hashKeyHash(sha256(own), PEPPER), true),
        record('key_3', hashKeyHash(sha256('plain'), PEPPER), true),
      ],
      0,
    )
    for (const key of [sha256('sk-1'), 'plain', `sk-${'x'.repeat(600)}`])
      expect(table.find(key, 0)).toEqual({ kind: 'unknown' })
    expect(table.find(own, 0)).toBeNull() // of our form: only our own digest proves it
  })

  test('never answers for a key of ours, whose digest is of the key itself', () => {
    const table = new KeyTable([PEPPER])
    const own = createKey()
    table.update([record('key_1', hashKey(own, PEPPER), false)], 0)
    expect(table.find(own, 0)).toMatchObject({ kind: 'active' })
    table.update([record('key_2', hashKey(own, PEPPER), true)], 0)
    expect(table.find(own, 0)).toMatchObject({ caller: { keyId: 'key_1' } })
  })

  test('costs unknown texts one hash while there is any, and no query', () => {
    const table = new KeyTable([PEPPER])
    const startsWith = vi.spyOn(String.prototype, 'startsWith')
    expect(table.find('sk-nobody', 0)).toEqual({ kind: 'unknown' })
    expect(startsWith).not.toHaveBeenCalled()
    startsWith.mockRestore()
    table.update([record('key_1', hashKeyHash(sha256('sk-1'), PEPPER), true)], 0)
    expect(table.find('sk-nobody', 0)).toEqual({ kind: 'unknown' })
  })

  test('is redacted where a client put it into a path or a name of a model', () => {
    expect(withoutKeys('/v1/sk-abcdefghijklmnopqrstuv/x')).toBe('/v1/sk-***/x')
    for (const name of ['task-abcdefghijklmnopqrstuv', 'sk-short', 'gpt-4o'])
      expect(withoutKeys(name)).toBe(name)
  })
})
