import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseUsdText } from '../../src/domain/pico-usd.ts'
import { createClient } from '../../src/keys/clients.ts'
import { checkStatement, parseStatementFile } from '../../src/statements/check-statement.ts'
import { type ClosedStatement, closeStatement } from '../../src/statements/close-statement.ts'
import { selectStatement } from '../../src/statements/select-statement.ts'
import type { Statement } from '../../src/statements/statement.ts'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { poolWithin } from '../../src/store/connection/within-transaction.ts'
import type { NewCharge } from '../../src/usage/charges/charge.ts'
import { findCharge, removeCharge, selectCharges, setCharge } from '../../src/usage/charges/charges-table.ts'
import { shareCharges } from '../../src/usage/charges/share-charges.ts'
import { json, run } from '../cli/command-line.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'

const HOW = { accepted: [], who: 'ann', pepper: 'a pepper of at least thirty-two characters', nowMs: 0 }
const MONTHS = ['2026-03', '2026-04', '2026-05'] as const

let ledger: LedgerDatabase
let made = 0

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(async () => await ledger?.drop())

async function newClient() {
  made += 1
  const client = await createClient(ledger.pool, `client ${made}`)
  if (client === null) throw new Error('the client is there already')
  return client
}

function aCharge(changes: Partial<NewCharge>): NewCharge {
  return {
    ...{
      name: 'INV-1',
      category: 'tax',
      from: '2026-03-01',
      to: '2026-03-31',
      service: 'VAT',
      reason: 'invoice',
    },
    ...{ upstream: null, model: null, clientId: null, quantity: null, unit: null, capacityTokens: null },
    ...{ amountPico: 5n },
    ...changes,
  }
}

const sumOf = ({ charges }: Statement) => charges.reduce((sum, { amountPico }) => sum + amountPico, 0n)

function statedIn({ document }: ClosedStatement): bigint {
  return parseUsdText(JSON.parse(document).charges_usd)
}

const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  month: fc.constantFrom(...MONTHS),
  pico: fc.bigInt({ min: -50n, max: 50n }),
  kind: fc.constantFrom('set', 'set', 'set', 'remove', 'other'),
  closes: fc.boolean(),
})

test('each charge is stated once, whenever it is set, changed, moved to another client or removed', async () => {
  const other = await newClient()
  const runs = fc.sample(fc.array(change, { minLength: 12, maxLength: 18 }), { seed: 4_711, numRuns: 4 })
  for (const [run, changes] of runs.entries()) {
    const client = await newClient()
    const now = new Map<string, bigint>()
    const open: string[] = [...MONTHS]
    let stated = 0n
    for (const { name, month, pico, kind, closes } of changes) {
      const own = `${run}${name}`
      const there = await findCharge(ledger.pool, own)
      if (kind === 'remove') {
        if (there !== null) await removeCharge(ledger.pool, there.id)
        now.delete(own)
      } else {
        const clientId = kind === 'other' ? other.id : client.id
        const days = { from: `${month}-02`, to: `${month}-02` }
        await setCharge(ledger.pool, aCharge({ name: own, clientId, amountPico: pico, ...days }))
        now.set(own, kind === 'other' ? 0n : pico)
      }
      const [next] = open
      if (!closes || next === undefined) continue
      const shown = await selectStatement(ledger.pool, client, next)
      const closed = await closeStatement(ledger.pool, client, next, HOW)
      expect(statedIn(closed)).toBe(sumOf(shown))
      stated += statedIn(closed)
      open.shift()
    }
    // In the end all of it is stated, and nothing twice.
    for (const month of [...open, '2026-06'])
      stated += statedIn(await closeStatement(ledger.pool, client, month, HOW))
    expect(stated).toBe([...now.values()].reduce((sum, pico) => sum + pico, 0n))
  }
})

test('a charge that moves to a later month is taken back in the statement that comes next, and stated there', async () => {
  const client = await newClient()
  const tax = { name: 'VAT moved', clientId: client.id, amountPico: 7n }
  await setCharge(ledger.pool, aCharge(tax))
  await closeStatement(ledger.pool, client, '2026-03', HOW)
  await setCharge(ledger.pool, aCharge({ ...tax, from: '2026-06-01', to: '2026-06-01' }))
  expect(sumOf(await selectStatement(ledger.pool, client, '2026-04'))).toBe(-7n)
  await closeStatement(ledger.pool, client, '2026-04', HOW)
  expect(sumOf(await selectStatement(ledger.pool, client, '2026-05'))).toBe(0n)
  expect(sumOf(await selectStatement(ledger.pool, client, '2026-06'))).toBe(7n)
})

test('a charge that is removed or changed while it is shared out leaves no part of what it was', async () => {
  const client = await newClient()
  const producer = newProducer()
  const call = aRecord({ clientId: client.id, arrivedAtMs: Date.parse('2026-01-05T10:00:00Z') })
  await ledger.rollUp('test:calls', [aCandidate(producer, 1, call)])
  const days = { from: '2026-01-01', to: '2026-01-31' }
  for (const name of ['gone', 'changed']) await setCharge(ledger.pool, aCharge({ ...days, name }))
  const { sharing } = await inTransaction(ledger.pool, async (session) => {
    const gone = await findCharge(session, 'gone')
    await findCharge(session, 'changed')
    await removeCharge(session, gone?.id ?? '')
    await setCharge(session, aCharge({ ...days, name: 'changed', amountPico: 11n }))
    const order = { month: '2026-01', by: 'clients', used: false, reason: 'fair' } as const
    const sharing = inTransaction(ledger.pool, (other) => shareCharges(poolWithin(other), order))
    await expect
      .poll(async () => {
        const { rows } = await ledger.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rows.length
      })
      .toBe(1)
    return { sharing }
  })
  expect((await sharing).map(({ amountPico }) => amountPico)).toEqual([11n])

  await setCharge(ledger.pool, aCharge({ ...days, name: 'S' }))
  await setCharge(ledger.pool, aCharge({ ...days, name: `S/whole/${client.id}`, clientId: client.id }))
  const shared = await run(
    { DATABASE_URL: ledger.url },
    ...['charge', 'share', '2026-01', '--share-by', 'clients', '--reason', 'fair'],
  )
  expect([shared.code, shared.err]).toEqual([1, expect.stringContaining('the name of a part of S')])
})

test('a month with charges is closed before later ones, and its statement adds up and can be checked', async () => {
  const client = await newClient()
  await setCharge(ledger.pool, aCharge({ name: 'VAT 3', clientId: client.id, amountPico: 123_456_789_012n }))
  await expect(closeStatement(ledger.pool, client, '2026-04', HOW)).rejects.toThrow(
    /usage or charges in 2026-03/,
  )
  const closed = await closeStatement(ledger.pool, client, '2026-03', HOW)
  const document = JSON.parse(closed.document)
  expect(document).toMatchObject({
    ...{ version: 3, cost_usd: '0', charges_usd: '0.123456789012', total_usd: '0.123456789012' },
    charges: [{ name: 'VAT 3', category: 'tax', service: 'VAT', amount_usd: '0.123456789012' }],
  })
  const file = (statement: unknown) =>
    parseStatementFile(
      JSON.stringify({
        ...{ statement, provisional: [], sha256: closed.sha256.toString('hex') },
        signature: closed.signature.toString('base64'),
        public_key: closed.publicKey.toString('base64'),
      }),
    )
  const checked = file(document)
  if (checked === null) throw new Error('the statement cannot be read')
  expect(checkStatement(checked, closed.publicKey)).toEqual([])
  const altered = file({ ...document, charges: [] })
  if (altered === null) throw new Error('the statement cannot be read')
  expect(checkStatement(altered, closed.publicKey)).toContain('Its charges do not add up to their sum.')
})

test('a commitment is spread by tokens, and what no client used is shared out once, when its month is over', async () => {
  const [one, two] = [await newClient(), await newClient()]
  const producer = newProducer()
  const call = (clientId: string, tokens: number) =>
    aRecord({
      ...{ clientId, upstream: 'azure', arrivedAtMs: Date.parse('2026-02-05T10:00:00Z') },
      usage: { ...aRecord().usage, inputTokens: tokens, outputTokens: 0 },
    })
  const records = [call(one.id, 300), call(two.id, 100)]
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
  const env = { DATABASE_URL: ledger.url }
  const terms = ['--from', '2026-02-01', '--to', '2026-02-28', '--reason', 'invoice 7']
  const ptu = ['--name', 'PTU 2', '--category', 'commitment', '--upstream', 'azure', '--service', 'PTU']
  const shown = await json(
    env,
    'charge',
    'set',
    ...ptu,
    ...terms,
    '--amount-usd',
    '10',
    '--capacity-tokens',
    '1000',
  )
  expect(shown).toMatchObject({
    spread: { tokens: '400', used_usd: '4', unused_usd: '6', effective_usd: '10000' },
  })
  await json(
    env,
    'charge',
    'set',
    '--name',
    'S',
    '--category',
    'storage',
    '--service',
    'files',
    ...terms,
    '--amount-usd',
    '1',
  )
  const report = async () => {
    const asked = ['report', '--costs', '--by', 'client', '--from', '2026-02-01', '--to', '2026-02-28']
    const { totals, rows } = Object(await json(env, ...asked))
    expect(totals.costs.other_usd).toBe('11')
    return [totals, ...rows].map(({ costs }) =>
      costs.unassigned_usd === '0' ? costs.other_usd : costs.unassigned_usd,
    )
  }
  expect(await report()).toEqual(['11', '0', '0'])

  const sharing = { month: '2026-02', by: 'tokens', used: false, reason: 'fair' } as const
  expect((await run(env, 'charge', 'share', '2999-01', '--share-by', 'tokens', '--reason', 'x')).err).toMatch(
    /is not over/,
  )
  const parts = await shareCharges(ledger.pool, sharing)
  expect(
    parts.map(({ clientId, service, part, amountPico }) => [clientId, service, part, amountPico]).sort(),
  ).toEqual(
    [
      [one.id, 'PTU', 'unused', 4_500_000_000_000n],
      [one.id, 'files', 'whole', 750_000_000_000n],
      [two.id, 'PTU', 'unused', 1_500_000_000_000n],
      [two.id, 'files', 'whole', 250_000_000_000n],
    ].sort(),
  )
  expect(await shareCharges(ledger.pool, sharing)).toEqual([])
  // What clients used is the operator's: calls were charged by their tokens.
  expect((await report())[0]).toBe('4')
  expect(sumOf(await selectStatement(ledger.pool, one, '2026-02'))).toBe(5_250_000_000_000n)

  const refused = await run(env, 'charge', 'set', ...ptu, ...terms, '--amount-usd', '9')
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is shared out')])
  await json(env, 'charge', 'remove', 'PTU 2')
  const period = { fromDay: '2026-02-01', toDay: '2026-02-28' }
  expect(await selectCharges(ledger.pool, { period, clientId: one.id })).toHaveLength(1)
})
