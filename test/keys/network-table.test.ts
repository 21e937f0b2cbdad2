import { afterAll, beforeAll, expect, test } from 'vitest'
import { addNetworks, pruneNetworks, selectNetworks } from '../../src/keys/networks/network-table.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { asking, explainRows } from '../support/rows-read.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 0)`)
  await addKey('key_a', 'laptop')
})
afterAll(() => ledger.drop())

async function addKey(id: string, name = id): Promise<void> {
  await ledger.pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     values ($1, 'cli_a', $2, 'tg_', sha256(convert_to($1, 'UTF8')), 'p', 0)`,
    [id, name],
  )
}

const KEYS = 500

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

test('a row of a gateway of the release before, and a day that is added late, hide no network and make none new', async () => {
  const isNew = async (keyId: string) => {
    const found = await selectNetworks(ledger.pool, { ...scope, keyId })
    const fresh = await selectNetworks(ledger.pool, { ...scope, keyId, onlyNew: true })
    expect(fresh).toEqual(found.filter((one) => one.isNew))
    return Object.fromEntries(found.map((one) => [one.network, one.isNew]))
  }
  for (const id of ['key_old', 'key_late']) await addKey(id)
  await ledger.pool.query(
    `insert into tallygate.key_networks (day, key_id, network, calls) values
       ('2026-03-01', 'key_old', '192.0.2.0/24', 1), ('2026-03-09', 'key_old', '192.0.2.0/24', 1),
       ('2026-03-09', 'key_old', '198.51.100.0/24', 1)`,
  )
  expect(await isNew('key_old')).toEqual({ '192.0.2.0/24': false, '198.51.100.0/24': true })
  const late = (day: string, network: string) => ({ ...of(day, network), keyId: 'key_late' })
  await addNetworks(ledger.pool, [late('2026-03-09', '192.0.2.0/24'), late('2026-03-09', '198.51.100.0/24')])
  expect(await isNew('key_late')).toEqual({ '192.0.2.0/24': false, '198.51.100.0/24': false })
  await addNetworks(ledger.pool, [late('2026-03-07', '192.0.2.0/24')])
  expect(await isNew('key_late')).toEqual({ '192.0.2.0/24': false, '198.51.100.0/24': true })
  await ledger.pool.query(`delete from tallygate.key_networks where key_id <> 'key_a'`)
})

test('new networks are found among those that may be new, however many keys come from where they did before', async () => {
  const keys = Array.from({ length: KEYS }, (_, at) => `key_${at}`)
  for (const id of keys) await addKey(id)
  const fromAll = (day: string, network: string) => keys.map((keyId) => ({ ...of(day, network), keyId }))
  for (let day = 1; day <= 9; day += 1)
    await addNetworks(ledger.pool, fromAll(`2026-05-0${day}`, '192.0.2.0/24'))
  await addNetworks(ledger.pool, fromAll('2026-05-09', '203.0.113.0/24').slice(0, 3))
  await ledger.pool.query('vacuum analyze tallygate.key_networks')
  const week = { ...scope, fromDay: '2026-05-03', toDay: '2026-05-09', onlyNew: true }
  const { given: found, asked } = await asking(ledger.pool, () => selectNetworks(ledger.pool, week))
  expect(found.map(({ keyId }) => keyId)).toEqual(['key_0', 'key_1', 'key_2'])
  expect(asked).toHaveLength(1)
  const steps = (await Promise.all(asked.map((one) => explainRows(ledger.pool, one)))).flat()
  expect(Math.max(...steps.map(({ rows }) => rows))).toBeLessThanOrEqual(KEYS / 50)
})

test('they are pruned after 90 days', async () => {
  const session = await ledger.pool.connect()
  await pruneNetworks(session, '2026-06-08')
  session.release()
  const { rows } = await ledger.pool.query('select min(day)::text as first from tallygate.key_networks')
  expect(rows).toEqual([{ first: '2026-03-10' }])
})
