import { afterAll, beforeAll, expect, test } from 'vitest'
import { addNetworks, pruneNetworks, selectNetworks } from '../../src/keys/networks/network-table.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 0)`)
  await ledger.pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     values ('key_a', 'cli_a', 'laptop', 'tg_', decode(repeat('00', 32), 'hex'), 'p', 0)`,
  )
})
afterAll(() => ledger.drop())

const of = (day: string, network: string, calls = 1) => ({ day, keyId: 'key_a', network, calls })
const WEEK = { fromDay: '2026-03-08', toDay: '2026-03-14' }
const scope = { ...WEEK, client: null, keyId: null, onlyNew: false, limit: 100 }

test('networks that a key was not used from before come first', async () => {
  await addNetworks(ledger.pool, [of('2026-03-01', '192.0.2.0/24'), of('2026-03-09', '192.0.2.0/24', 50)])
  await addNetworks(ledger.pool, [
    of('2026-03-10', '198.51.100.0/24', 2),
    of('2026-03-09', '192.0.2.0/24', 4),
  ])
  const known = { client: 'acme', keyId: 'key_a', keyName: 'laptop' }
  const fresh = {
    ...known,
    network: '198.51.100.0/24',
    firstDay: '2026-03-10',
    lastDay: '2026-03-10',
    calls: 2n,
    isNew: true,
  }
  expect(await selectNetworks(ledger.pool, scope)).toEqual([
    fresh,
    {
      ...known,
      network: '192.0.2.0/24',
      firstDay: '2026-03-09',
      lastDay: '2026-03-09',
      calls: 54n,
      isNew: false,
    },
  ])
  expect(await selectNetworks(ledger.pool, { ...scope, onlyNew: true, client: 'acme' })).toEqual([fresh])
  expect(await selectNetworks(ledger.pool, { ...scope, keyId: 'key_b' })).toEqual([])
})

test('a key has 16 networks of a day and what is beyond them, also by several gateways one after the other', async () => {
  for (const gateway of [1, 2, 3])
    await addNetworks(
      ledger.pool,
      Array.from({ length: 12 }, (_, n) => of('2026-04-01', `10.${gateway}.${n}.0/24`)),
    )
  const { rows } = await ledger.pool.query(
    `select count(*)::int as rows, sum(calls)::int as calls from tallygate.key_networks where day = '2026-04-01'`,
  )
  expect(rows).toEqual([{ rows: 17, calls: 36 }])
})

test('they are pruned after 90 days', async () => {
  const session = await ledger.pool.connect()
  await pruneNetworks(session, '2026-06-08')
  session.release()
  const { rows } = await ledger.pool.query('select min(day)::text as first from tallygate.key_networks')
  expect(rows).toEqual([{ first: '2026-03-10' }])
})
