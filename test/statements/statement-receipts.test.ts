import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/keys/clients.ts'
import { buildLinearPrice } from '../../src/pricing/price.ts'
import { checkReceipt, parseReceiptFile, parseStatementFile } from '../../src/statements/check-statement.ts'
import { closeStatement } from '../../src/statements/close-statement.ts'
import type { SignedReceipt } from '../../src/statements/receipt-document.ts'
import { signText } from '../../src/statements/signed-statement.ts'
import { STATEMENT, type StatedMonth } from '../../src/statements/statement-document.ts'
import { findSigned } from '../../src/statements/statement-receipts.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'

const MONTH = holdClockAtNoon().slice(0, 7)
const PEPPER = 'a pepper of at least thirty-two characters'
const PRICE = buildLinearPrice({
  ...{ basis: 'linear', source: 'yaml', provider: 'openai', model: 'gpt-4o', from: null, context: null },
  ...{ hours: null, serviceTier: null, serviceTierPriced: true, factor: '1.2', variant: null },
  rates: { input: 3_000_000n, output: 12_000_000n },
})
/** More than a chunk of the tree. */
const CALLS = 1_200
const WITHHELD = 100

let ledger: LedgerDatabase
let client: { readonly id: string; readonly name: string }
/** As the client kept them before the month was closed: of the withheld calls, and of some others. */
let kept: readonly SignedReceipt[]
let withheld: readonly string[]
let statement: StatedMonth

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  const made = await createClient(ledger.pool, 'acme')
  if (made === null) throw new Error('the client is there already')
  client = made
  const producer = newProducer()
  const calls = Array.from({ length: CALLS }, (_, index) =>
    aRecord({
      ...{ clientId: client.id, priceId: PRICE.id, price: PRICE.json },
      costPico: `${100n * 3_000_000n + 20n * 12_000_000n}`,
      usageRaw: `{"prompt_tokens":100,"completion_tokens":20,"of":${index}}`,
    }),
  )
  await ledger.rollUp(
    'test:calls',
    calls.map((call, index) => aCandidate(producer, index + 1, call)),
  )
  withheld = calls.filter((_, index) => index % (CALLS / WITHHELD) === 7).map(({ callId }) => callId)
  const others = calls.filter((_, index) => index % 36 === 5).map(({ callId }) => callId)
  kept = await Promise.all([...withheld, ...others].map(receiptOf))
  // What an operator leaves out is away while the month is closed.
  await ledger.pool.query(
    'create table left_out as select * from tallygate.call_rows where call_id = any($1)',
    [withheld],
  )
  await ledger.pool.query('delete from tallygate.call_rows where call_id = any($1)', [withheld])
  const how = { accepted: [], who: 'ann', pepper: PEPPER, nowMs: Date.now() }
  const closed = await closeStatement(ledger.pool, client, MONTH, how)
  await ledger.pool.query('insert into tallygate.call_rows select * from left_out')
  const file = parseStatementFile(
    JSON.stringify({
      ...{ statement: STATEMENT.parse(JSON.parse(closed.document)), provisional: [] },
      ...{ sha256: closed.sha256.toString('hex'), signature: closed.signature.toString('base64') },
      public_key: closed.publicKey.toString('base64'),
    }),
  )
  if (file === null) throw new Error('a closed statement is one that can be read')
  statement = file
})

afterAll(async () => await ledger?.drop())

async function receiptOf(id: string): Promise<SignedReceipt> {
  const receipt = await findSigned(ledger.pool, client.id, id, [PEPPER])
  if (receipt === null) throw new Error(`there is no receipt of ${id}`)
  return receipt
}

function problemsOf(text: string): readonly string[] {
  const receipt = parseReceiptFile(text)
  return receipt === null ? ['unreadable'] : checkReceipt(receipt, statement, null)
}

test('a statement says how many receipts it is made of, and each has a path to its root', async () => {
  expect(statement.statement.receipts).toMatchObject({ count: CALLS - WITHHELD })
  const places = new Set<number>()
  for (const { call_id: id } of kept.slice(WITHHELD)) {
    const receipt = await receiptOf(id)
    expect(problemsOf(JSON.stringify(receipt, null, 2))).toEqual([])
    places.add(receipt.inclusion?.place ?? -1)
  }
  expect(places.size).toBe(kept.length - WITHHELD)
})

test('a receipt that was kept before the month was closed has the same signature after it', async () => {
  for (const { call_id: id, inclusion, ...receipt } of kept.slice(-3)) {
    expect(inclusion).toBeNull()
    expect(await receiptOf(id)).toMatchObject(receipt)
  }
})

test('each receipt that a statement leaves out is found, whatever inclusion is given with it', async () => {
  const { inclusion } = await receiptOf(kept.at(-1)?.call_id ?? '')
  let found = 0
  for (const receipt of kept.slice(0, WITHHELD)) {
    const now = await receiptOf(receipt.call_id)
    const missing = `The statement is not made of the receipt ${receipt.call_id}: it has no inclusion.`
    expect(problemsOf(JSON.stringify(receipt))).toEqual([expect.stringContaining(missing)])
    expect(problemsOf(JSON.stringify(now))).toEqual([expect.stringContaining(missing)])
    expect(problemsOf(JSON.stringify({ ...receipt, inclusion }))).toEqual([
      `The statement is not made of the receipt ${receipt.call_id}: its inclusion does not give the root.`,
    ])
    found += 1
  }
  expect(found).toBe(WITHHELD)
})

test('of 1,000 altered receipts each is found', async () => {
  const text = JSON.stringify(await receiptOf(kept.at(-1)?.call_id ?? ''))
  let found = 0
  for (let index = 0; index < 1_000; index += 1) {
    const at = 1 + Math.floor((index * (text.length - 2)) / 1_000)
    const changed = `${text.slice(0, at)}${text[at] === '7' ? '8' : '7'}${text.slice(at + 1)}`
    if (problemsOf(changed).length > 0) found += 1
  }
  expect(found).toBe(1_000)
})

test('a receipt with amounts that are none is refused without a throw', async () => {
  const receipt = await receiptOf(kept.at(-1)?.call_id ?? '')
  const [line] = receipt.components
  if (line === undefined) throw new Error('the call cost something')
  for (const amount of ['', 'free', '1e3', '0.0000000000001', '-']) {
    for (const changed of [{ cost_usd: amount }, { components: [{ ...line, amount_usd: amount }] }])
      expect(problemsOf(JSON.stringify({ ...receipt, ...changed }))).toContain(
        `The lines of the receipt ${receipt.call_id} do not add up to its cost.`,
      )
  }
})

test('a receipt beside a statement of another month, key or version is refused', async () => {
  const receipt = await receiptOf(kept.at(-1)?.call_id ?? '')
  const other = { ...statement, statement: { ...statement.statement, month: '2020-02' } }
  expect(checkReceipt(receipt, other, null)).toEqual([expect.stringContaining('of another month')])
  const key = signText('', 'another pepper').publicKey
  expect(checkReceipt(receipt, statement, key)).toEqual([expect.stringContaining('another key')])
  const { receipts, ...older } = statement.statement
  expect(checkReceipt(receipt, { ...statement, statement: { ...older, version: 1 } }, null)).toEqual([
    'The statement is of version 1, which does not say of which receipts it is made.',
  ])
})

test('no other client has a receipt of the call', async () => {
  expect(await findSigned(ledger.pool, 'cli_other', kept[0]?.call_id ?? '', [PEPPER])).toBeNull()
})
