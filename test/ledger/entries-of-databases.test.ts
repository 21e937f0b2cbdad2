import { expect, test, vi } from 'vitest'
import { parseEntry } from '../../src/ledger/entry.ts'
import { makeCalls, type Site, testSite } from './support/ledgers.ts'

const SOON = { interval: 20 }

/** Of the entries on the stream, how many say each database. */
async function countByDatabase({ redis, stream }: Site): Promise<Record<string, number>> {
  const entries = (await redis.xrange(stream, '-', '+')).map(([, fields]) => parseEntry(fields))
  const databases = entries.map((entry) => (entry.kind === 'entry' ? `${entry.database}` : entry.kind))
  return Object.fromEntries(
    Object.entries(Object.groupBy(databases, (id) => id)).map(([id, all]) => [id, all?.length ?? 0]),
  )
}

test('every entry says the database in which its stream is registered', async () => {
  const site = testSite()
  site.totals.database = '1760000000.5'
  await makeCalls(await site.ledger(), 1, 20)
  await vi.waitFor(async () => expect(await countByDatabase(site)).toEqual({ '1760000000.5': 20 }), SOON)
})

test('a database without an identity gets entries without one, as from older gateways', async () => {
  const site = testSite()
  const database = { ...site.totals, readDatabaseId: async () => null }
  await makeCalls(await site.ledger({ database }), 1, 20)
  await vi.waitFor(async () => expect(await countByDatabase(site)).toEqual({ null: 20 }), SOON)
})

test('what is not committed when another database takes the place is sent again for that one', async () => {
  const site = testSite()
  const ledger = await site.ledger({ keepSeconds: 0.2 })
  await makeCalls(ledger, 1, 20)
  await vi.waitFor(async () => expect(await countByDatabase(site)).toEqual({ a: 20 }), SOON)
  site.totals.database = 'b'
  await vi.waitFor(async () => expect(await countByDatabase(site)).toEqual({ a: 20, b: 20 }), SOON)
  await makeCalls(ledger, 21, 25)
  await vi.waitFor(async () => expect(await countByDatabase(site)).toEqual({ a: 20, b: 25 }), SOON)
})
