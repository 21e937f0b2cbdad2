import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/keys/clients.ts'
import { openKeyDirectory } from '../../src/keys/key-directory.ts'
import { createClientKey, revokeKey } from '../../src/keys/keys.ts'
import { openLimitDirectory } from '../../src/limits/directory/limit-directory.ts'
import { holdsFor } from '../../src/limits/engine/call-limits.ts'
import { selectLimitsOf, showLimits } from '../../src/limits/shown-limits.ts'
import { removeLimits, setLimits } from '../../src/limits/table/change-limits.ts'
import { selectLimitChanges } from '../../src/limits/table/limit-changes.ts'
import { rotateLimitedKey } from '../../src/limits/table/rotate-limited-key.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { budget, requestsAMinute, scopeOf } from './limit-database.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
})
afterAll(() => ledger.drop())

async function newClientWithKey(name: string) {
  const client = await createClient(ledger.pool, name)
  const order = { client: name, name: 'label', models: null, expiresInSeconds: null }
  const key = await createClientKey(ledger.pool, order, 'pepper')
  if (client === null || key === null) throw new Error(`${name} exists`)
  return { clientId: client.id, keyId: key.id }
}

async function rotate(id: string): Promise<string> {
  return (await rotated(id)).id
}

async function rotated(id: string) {
  const rotation = await rotateLimitedKey(ledger.pool, id, 3_600, 'pepper', 'ann')
  if (rotation.kind !== 'rotated') throw new Error(rotation.kind)
  return rotation.key
}

async function spend(clientId: string, keyId: string, costPico: string): Promise<void> {
  const record = aRecord({ clientId, keyId, costPico, priceId: 'price', arrivedAtMs: Date.now() })
  await ledger.rollUp('test:calls', [aCandidate(newProducer(), 1, record)])
}

async function shownOf(clientId: string) {
  return await showLimits(ledger.pool, await selectLimitsOf(ledger.pool, clientId), clientId, Date.now())
}

test('limits of a key follow it, and what was spent does not begin again', async () => {
  const { clientId, keyId } = await newClientWithKey('rotated')
  const other = await newClientWithKey('other')
  const orders = [budget(100n), requestsAMinute(5n)]
  const set = await setLimits(ledger.pool, scopeOf(clientId, { keyId }), orders, 'ann')
  await spend(clientId, keyId, '30')
  await spend(clientId, other.keyId, '1000')
  const second = await rotate(keyId)
  const third = await rotate(second)
  await spend(clientId, second, '9')
  await spend(clientId, third, '4')

  const shown = await shownOf(clientId)
  expect(shown.map(({ limit }) => limit)).toEqual(
    set.map((limit) => ({ ...limit, keyId: third, formerKeys: [keyId, second] })),
  )
  expect(shown[0]?.spent?.pico).toBe(43n)
  for (const key of [keyId, second, third])
    expect(shown.every(({ limit }) => holdsFor(limit, key, 'gpt-4o'))).toBe(true)
  expect(shown.some(({ limit }) => holdsFor(limit, other.keyId, 'gpt-4o'))).toBe(false)

  const history = await selectLimitChanges(ledger.pool, { clientId, before: null, rows: 100 })
  expect(history.map(({ action, who }) => `${who} ${action}`)).toEqual([
    ...Array.from({ length: 4 }, () => 'ann rotate'),
    'ann set',
    'ann set',
  ])
  expect(history[0]).toMatchObject({ before: { key: second }, after: { key: third } })
})

test('a limit is found by the keys it had, so a key never has two of a sort', async () => {
  const { clientId, keyId } = await newClientWithKey('found')
  const [first] = await setLimits(ledger.pool, scopeOf(clientId, { keyId }), [budget(100n)], 'ann')
  const second = await rotate(keyId)
  const [again] = await setLimits(ledger.pool, scopeOf(clientId, { keyId }), [budget(50n)], 'ann')
  expect(again).toMatchObject({ id: first?.id, keyId: second, amount: 50n })
  const third = await rotate(keyId)
  expect((await shownOf(clientId)).map(({ limit }) => limit.formerKeys)).toEqual([[keyId, second]])
  expect(await removeLimits(ledger.pool, { clientId, keyId: second }, 'ann')).toMatchObject([
    { keyId: third },
  ])
  expect(await shownOf(clientId)).toEqual([])
})

test('rotations and changes of limits at the same moment wait for each other', async () => {
  const { clientId, keyId } = await newClientWithKey('busy')
  await Promise.all(
    Array.from({ length: 10 }, (_, index) => [
      rotate(keyId),
      setLimits(ledger.pool, scopeOf(clientId, { keyId }), [budget(BigInt(index + 1))], 'ann'),
    ]).flat(),
  )
  expect(await shownOf(clientId)).toHaveLength(1)
})

test('a gateway knows a key that took limits over once it knows that of them, and no sooner', async () => {
  const { clientId, keyId } = await newClientWithKey('handed over')
  await setLimits(ledger.pool, scopeOf(clientId, { keyId }), [budget(100n)], 'ann')
  const following = { pool: ledger.pool, redisUrl: null, redisPrefix: '', log: quiet }
  const limits = openLimitDirectory(following)
  const readFirst = () => limits.refresh()
  const keys = openKeyDirectory({ ...following, peppers: ['pepper'], graceSeconds: 60, readFirst })
  try {
    await Promise.all([limits.whenReady(), keys.whenReady()])
    let last = keyId
    for (let rotations = 0; rotations < 5; rotations += 1) {
      const { id, key } = await rotated(last)
      expect(await keys.find(key)).toMatchObject({ kind: 'active', caller: { keyId: id } })
      expect(limits.of(clientId).map((limit) => limit.keyId)).toEqual([id])
      last = id
    }
  } finally {
    await Promise.all([keys.close(), limits.close()])
  }
})

test('a key is revoked at once, though the limits cannot be read', async () => {
  const { keyId } = await newClientWithKey('revoked')
  const following = { pool: ledger.pool, redisUrl: null, redisPrefix: '', log: quiet }
  const readFirst = () => new Promise<never>(() => {})
  const keys = openKeyDirectory({ ...following, peppers: ['pepper'], graceSeconds: 60, readFirst })
  try {
    await keys.whenReady()
    const { promise, resolve } = Promise.withResolvers<string>()
    keys.onDeactivated(resolve)
    await revokeKey(ledger.pool, keyId)
    expect(await promise).toBe(keyId)
  } finally {
    await keys.close()
  }
})
