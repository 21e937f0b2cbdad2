import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_UNITS, NO_USAGE } from '../../src/call/usage.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { reprice } from '../../src/corrections/reprice.ts'
import { parseUsdText, picoToUsdNumber } from '../../src/domain/pico-usd.ts'
import { daysOfMonth, nextMonthOf } from '../../src/domain/utc-month.ts'
import { createClient } from '../../src/keys/clients.ts'
import { buildLinearPrice } from '../../src/pricing/price.ts'
import { costOf } from '../../src/pricing/price-cost.ts'
import type { LinearDefinition } from '../../src/pricing/price-definition.ts'
import {
  checkReceipt,
  checkStatement,
  parseReceiptFile,
  parseStatementFile,
} from '../../src/statements/check-statement.ts'
import { type ClosedStatement, closeStatement, findClosed } from '../../src/statements/close-statement.ts'
import { selectStatement } from '../../src/statements/select-statement.ts'
import { STATEMENT, type StatementDocument } from '../../src/statements/statement-document.ts'
import { findSigned } from '../../src/statements/statement-receipts.ts'
import type { NewCharge } from '../../src/usage/charges/charge.ts'
import { setCharge } from '../../src/usage/charges/charges-table.ts'
import { shareCharges } from '../../src/usage/charges/share-charges.ts'
import { readExport } from '../../src/usage/export/export-parts.ts'
import { answerClient } from '../../src/usage/query/answer-usage.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { orderTo } from '../corrections/repricing-order.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { rounds } from '../support/rounds.ts'

const CLIENTS = rounds({ short: 20, long: 1_000 })
/** Of every tenth client one call is left out of its statement. */
const WITHHELD_EACH = 10
const AT_ONCE = 200
const DAY = holdClockAtNoon()
const MONTH = DAY.slice(0, 7)
const PEPPER = 'a pepper of at least thirty-two characters'
const HOW = { accepted: [], who: 'ann', pepper: PEPPER, nowMs: Date.now() }

const LIST: LinearDefinition = {
  ...{ basis: 'linear', source: 'yaml', provider: 'openai', model: 'gpt-4o', from: null, context: null },
  ...{ hours: null, serviceTier: null, serviceTierPriced: true, factor: '1', variant: null },
  rates: { input: 2_500_000n, cacheRead: 1_250_000n, output: 10_000_000n },
}
const timesOf = (percent: bigint): LinearDefinition['rates'] => ({
  input: (2_500_000n * percent) / 100n,
  cacheRead: (1_250_000n * percent) / 100n,
  output: (10_000_000n * percent) / 100n,
})
/** A markup, a discount, a service tier, and a price for long prompts. */
const PRICES = [
  { ...LIST, factor: '1.2', rates: timesOf(120n) },
  { ...LIST, factor: '0.85', rates: timesOf(85n) },
  { ...LIST, serviceTier: 'batch', rates: timesOf(50n) },
  { ...LIST, context: { above: 200_000, upTo: null }, rates: timesOf(200n) },
].map(buildLinearPrice)

interface Client {
  readonly id: string
  readonly name: string
}

let ledger: LedgerDatabase
let clients: readonly Client[]
let withheld: readonly { readonly client: Client; readonly id: string; readonly receipt: string }[]
let closed: readonly ClosedStatement[]

/** Each differs a little, so that no two clients owe the same. */
function callsOf({ id: clientId }: Client, number: number): readonly CallRecord[] {
  const call = (changes: Partial<CallRecord>) => aRecord({ clientId, arrivedAtMs: Date.now(), ...changes })
  const usage = { ...NO_USAGE, inputTokens: 1_000 + number, cacheReadTokens: 600, outputTokens: 50 }
  const unpriced = { priceId: null, price: null, costPico: null, unpricedReason: 'no_price' } as const
  return [
    ...PRICES.map((price, index) => {
      const used = { ...usage, inputTokens: usage.inputTokens + index * 70_000 }
      const costPico = `${costOf(price, used, NO_UNITS)}`
      return call({
        model: 'gpt-4o',
        upstream: 'azure',
        usage: used,
        costPico,
        priceId: price.id,
        price: price.json,
      })
    }),
    call({ model: 'later-priced', requestedModel: 'later-priced', reportedModel: null, usage, ...unpriced }),
    call({ model: 'never-priced', requestedModel: 'never-priced', reportedModel: null, usage, ...unpriced }),
  ]
}

function charge(
  changes: Pick<NewCharge, 'name' | 'category' | 'amountPico'> & Partial<NewCharge>,
): NewCharge {
  return {
    ...{ from: DAY, to: DAY, service: changes.name, upstream: null, model: null, clientId: null },
    ...{ quantity: null, unit: null, capacityTokens: null, reason: 'invoice 7' },
    ...changes,
  }
}

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  const { pool } = ledger
  const made = await Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => createClient(pool, `client ${at}`)),
  )
  clients = made.flatMap((client) => client ?? [])
  const calls = clients.map(callsOf)
  for (let from = 0; from < CLIENTS; from += AT_ONCE) {
    const producer = newProducer()
    const records = calls.slice(from, from + AT_ONCE).flat()
    await ledger.rollUp(
      'test:calls',
      records.map((record, index) => aCandidate(producer, index + 1, record)),
    )
  }
  expect(await reprice(pool, orderTo('later-priced', DAY))).toMatchObject({ kind: 'changed' })
  await creditAll('goodwill', (number) => -1_000n - BigInt(number))
  await Promise.all(
    clients.map(({ id: clientId, name }, at) =>
      setCharge(
        pool,
        charge({ name: `VAT of ${name}`, category: 'tax', clientId, amountPico: 10_000_000n + BigInt(at) }),
      ),
    ),
  )
  const capacityTokens = 1_000_000n * BigInt(CLIENTS)
  await setCharge(
    pool,
    charge({
      name: 'PTU',
      category: 'commitment',
      upstream: 'azure',
      capacityTokens,
      amountPico: 7_000_000_000_001n,
    }),
  )
  await setCharge(pool, charge({ name: 'files', category: 'storage', amountPico: 3_000_000_000_001n }))
  await shareCharges(pool, { month: MONTH, by: 'tokens', used: true, reason: 'as agreed' })

  const left = clients.flatMap((client, at) =>
    at % WITHHELD_EACH === 3 ? [{ client, id: calls[at]?.[at % 4]?.callId ?? '' }] : [],
  )
  withheld = await Promise.all(
    left.map(async (one) => ({ ...one, receipt: await receiptOf(one.client, one.id) })),
  )
  const ids = [left.map(({ id }) => id)]
  await pool.query('create table left_out as select * from tallygate.call_rows where call_id = any($1)', ids)
  await pool.query('delete from tallygate.call_rows where call_id = any($1)', ids)
  const documents: ClosedStatement[] = []
  const beganAt = performance.now()
  for (const client of clients) documents.push(await closeStatement(pool, client, MONTH, HOW))
  closed = documents
  const seconds = ((performance.now() - beganAt) / 1_000).toFixed(1)
  const bytes = documents.reduce((sum, { document }) => sum + document.length, 0)
  console.log(
    `${CLIENTS} statements of ${Math.round(bytes / CLIENTS)} bytes each were closed in ${seconds} s`,
  )
  await pool.query('insert into tallygate.call_rows select * from left_out')
})

afterAll(async () => await ledger?.drop())

async function creditAll(why: string, picoOf: (number: number) => bigint): Promise<void> {
  await Promise.all(
    clients.map(({ id: clientId }, at) =>
      addCredit(ledger.pool, { clientId, day: DAY, model: null, pico: picoOf(at), who: 'ann', why }),
    ),
  )
}

async function receiptOf({ id }: Client, callId: string): Promise<string> {
  return JSON.stringify(await findSigned(ledger.pool, id, callId, [PEPPER]))
}

const documentOf = ({ document }: ClosedStatement): StatementDocument => STATEMENT.parse(JSON.parse(document))

function fileOf(statement: ClosedStatement, document = statement.document): string {
  const { sha256, signature, publicKey } = statement
  const proof = { signature: signature.toString('base64'), public_key: publicKey.toString('base64') }
  return `{"statement":${document},"provisional":[],"sha256":"${sha256.toString('hex')}",${JSON.stringify(proof).slice(1)}`
}

const problemsOf = (text: string) => {
  const file = parseStatementFile(text)
  return file === null ? ['unreadable'] : checkStatement(file, closed[0]?.publicKey ?? null)
}

test('statements of many clients add up, and equal what the export and usage say of each', async () => {
  const exported = new Map<string, bigint>()
  const { from, to } = daysOfMonth(MONTH)
  for await (const { text } of readExport(ledger.pool, 'jsonl', { from, to, clientId: null })) {
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const { client_id: id, cost_usd: cost } = JSON.parse(line)
      exported.set(id, (exported.get(id) ?? 0n) + parseUsdText(cost))
    }
  }
  let shared = 0n
  for (const [at, statement] of closed.entries()) {
    const document = documentOf(statement)
    const client = clients[at]
    if (client === undefined) throw new Error('there is a statement for each client')
    const sums = (rows: readonly { readonly amount_usd: string }[]) =>
      rows.reduce((sum, { amount_usd: amount }) => sum + parseUsdText(amount), 0n)
    const costPico = parseUsdText(document.cost_usd)
    expect(sums(document.lines) + sums(document.corrections)).toBe(costPico)
    expect(sums(document.charges ?? []) + costPico).toBe(parseUsdText(document.total_usd))
    expect(exported.get(client.id)).toBe(costPico)
    const query = { client, days: 31, fromDay: from, toDay: to, groupBy: [] }
    const { cost_usd: used, requests } = await answerClient(ledger.pool, query)
    expect([used, requests]).toEqual([picoToUsdNumber(costPico), document.requests])
    expect(problemsOf(fileOf(statement))).toEqual([])
    // Markup, discount, tier and long prompts; repriced, credited; two shared charges and a tax; unpriced and named.
    expect(new Set(document.lines.map(({ factor, service_tier: tier }) => `${factor} ${tier}`)).size).toBe(4)
    expect(document.corrections.map(({ kind }) => kind).sort()).toEqual(['credit', 'reprice'])
    expect(document.charges?.map(({ category }) => category).sort()).toEqual([
      'commitment',
      'commitment',
      'storage',
      'tax',
    ])
    expect(document.unpriced).toMatchObject([{ model: 'never-priced', calls: 1 }])
    shared += sums((document.charges ?? []).filter(({ category }) => category !== 'tax'))
  }
  expect(shared).toBe(10_000_000_000_002n)
})

test('a change of any one byte is found in each file, and each receipt that was left out', async () => {
  let found = 0
  for (const [at, statement] of closed.entries()) {
    const { document } = statement
    const place = 1 + ((at * 7_919) % (document.length - 2))
    const other = document[place] === '7' ? '8' : '7'
    const altered = `${document.slice(0, place)}${other}${document.slice(place + 1)}`
    if (problemsOf(fileOf(statement, altered)).length > 0) found += 1
  }
  expect(found).toBe(CLIENTS)

  for (const { client, id, receipt } of withheld) {
    const statement = closed[clients.indexOf(client)]
    const file = statement === undefined ? null : parseStatementFile(fileOf(statement))
    if (file === null) throw new Error('a closed statement is one that can be read')
    for (const text of [receipt, await receiptOf(client, id)]) {
      const parsed = parseReceiptFile(text)
      if (parsed === null) throw new Error('a receipt is one that can be read')
      expect(checkReceipt(parsed, file, null)).toEqual([expect.stringContaining('it has no inclusion')])
    }
  }
  expect(withheld).toHaveLength(CLIENTS / WITHHELD_EACH)
})

test('a correction changes no byte of a closed statement, and is carried to the next', async () => {
  await creditAll('too dear', (number) => -7n - BigInt(number))
  for (const [at, before] of closed.entries()) {
    const client = clients[at]
    if (client === undefined) throw new Error('there is a statement for each client')
    expect(await findClosed(ledger.pool, client.id, MONTH)).toEqual(before)
    const next = await selectStatement(ledger.pool, client, nextMonthOf(MONTH))
    expect(next.carried).toEqual([{ month: MONTH, amountPico: -7n - BigInt(at) }])
  }
})
