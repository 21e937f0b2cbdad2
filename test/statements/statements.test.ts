import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { isMonth } from '../../src/domain/utc-month.ts'
import { createClient } from '../../src/keys/clients.ts'
import { runOperation } from '../../src/operations/audit/run-operation.ts'
import { buildLinearPrice } from '../../src/pricing/price.ts'
import type { LinearDefinition } from '../../src/pricing/price-definition.ts'
import { checkStatement, parsePublicKey, parseStatementFile } from '../../src/statements/check-statement.ts'
import { closeStatement } from '../../src/statements/close-statement.ts'
import { findOpenEnds } from '../../src/statements/open-ends.ts'
import { STATEMENTS_CHAPTER, type StatementPorts } from '../../src/statements/operations.ts'
import { selectStatement } from '../../src/statements/select-statement.ts'
import { roundToCents } from '../../src/statements/statement.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'

const PEPPER = 'a pepper of at least thirty-two characters'
const NOW_MS = Date.parse('2026-11-26T12:00:00Z')
const DEFINITION: LinearDefinition = {
  basis: 'linear',
  source: 'yaml',
  provider: 'openai',
  model: 'gpt-4o',
  from: null,
  context: null,
  hours: null,
  serviceTier: null,
  serviceTierPriced: true,
  factor: '1.2',
  variant: null,
  rates: { input: 3_000_000n, cacheRead: 1_500_000n, output: 12_000_000n },
}
const PRICE = buildLinearPrice(DEFINITION)
const PARTLY = buildLinearPrice({ ...DEFINITION, unpriced: ['reasoning'] })
const HOW = { accepted: [], who: 'ann', pepper: PEPPER, nowMs: NOW_MS }

let ledger: LedgerDatabase
let client: { readonly id: string; readonly name: string }
let named = 0

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})

afterAll(async () => await ledger?.drop())

beforeEach(async () => {
  named += 1
  const made = await createClient(ledger.pool, `client ${named}`)
  if (made === null) throw new Error('the client is there already')
  client = made
})

async function count(...records: readonly Partial<CallRecord>[]): Promise<void> {
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((changes, index) =>
      aCandidate(producer, index + 1, aRecord({ clientId: client.id, ...changes })),
    ),
  )
}

/** A call of 1,000 tokens, 600 of them cached, and 50 of answer. */
function call(day: string): Partial<CallRecord> {
  return {
    arrivedAtMs: Date.parse(`${day}T10:00:00Z`),
    model: 'gpt-4o',
    usage: { ...NO_USAGE, inputTokens: 1_000, cacheReadTokens: 600, outputTokens: 50 },
    costPico: `${400n * 3_000_000n + 600n * 1_500_000n + 50n * 12_000_000n}`,
    priceId: PRICE.id,
    price: PRICE.json,
  }
}
const CALL_PICO = 2_700_000_000n

async function credit(day: string, pico: bigint, why: string): Promise<void> {
  await addCredit(ledger.pool, { clientId: client.id, day, model: null, pico, who: 'ann', why })
}

async function usagePico(month: string): Promise<bigint> {
  const { rows } = await ledger.pool.query(
    `select coalesce(sum(cost_pico + adjusted_pico), 0)::text as pico from tallygate.daily_usage
     where client_id = $1 and to_char(day, 'YYYY-MM') = $2`,
    [client.id, month],
  )
  return BigInt(rows[0].pico)
}

test('a month is lines by model, price and class, with its corrections, and equals the totals', async () => {
  await count(
    call('2026-10-01'),
    call('2026-10-31'),
    call('2026-11-01'),
    { ...call('2026-10-05'), priceId: 'reported', price: null, costPico: '77' },
    { ...call('2026-10-05'), priceId: PARTLY.id, price: PARTLY.json, costPico: '0', usage: NO_USAGE },
    { ...call('2026-10-06'), model: 'unknown', priceId: null, price: null, costPico: null },
  )
  await credit('2026-10-07', -1_000n, 'goodwill')
  const statement = await selectStatement(ledger.pool, client, '2026-10')
  const shown = statement.lines.map((line) => [line.model, line.name, line.quantity, line.amountPico])
  expect(shown).toEqual([
    ['gpt-4o', 'input', 800n, 2_400_000_000n],
    ['gpt-4o', 'cached_input', 1_200n, 1_800_000_000n],
    ['gpt-4o', 'output', 100n, 1_200_000_000n],
    ['gpt-4o', 'as_metered', 1n, 77n],
  ])
  expect(statement.corrections).toMatchObject([{ kind: 'credit', why: 'goodwill', amountPico: -1_000n }])
  expect(statement.unpriced).toEqual([
    { model: 'gpt-4o', upstream: 'openai', calls: 1n, classes: ['reasoning'] },
    { model: 'unknown', upstream: 'openai', calls: 1n, classes: [] },
  ])
  expect(statement.requests).toBe(5n)
  expect(statement.totalPico).toBe(2n * CALL_PICO + 77n - 1_000n)
  expect(statement.totalPico).toBe(await usagePico('2026-10'))
})

test('what comes to a closed month is a line of the next, once, and changes nothing of the closed one', async () => {
  await count(call('2026-08-10'), call('2026-09-10'))
  const august = await closeStatement(ledger.pool, client, '2026-08', HOW)
  await credit('2026-08-11', -5n, 'too dear')
  await count(call('2026-08-12'))
  const september = await closeStatement(ledger.pool, client, '2026-09', HOW)
  expect(JSON.parse(september.document)).toMatchObject({
    carried: [{ month: '2026-08', amount_usd: '0.002699999995' }],
    previous: august.sha256.toString('hex'),
    cost_usd: '0.0027',
  })
  await credit('2026-08-13', 7n, 'too cheap')
  await credit('2026-09-13', 9n, 'too cheap')
  const october = await selectStatement(ledger.pool, client, '2026-10')
  expect(october.carried).toEqual([
    { month: '2026-08', amountPico: 7n },
    { month: '2026-09', amountPico: 9n },
  ])
  // Of two months that are open the first has it.
  await count(call('2026-10-10'))
  expect((await selectStatement(ledger.pool, client, '2026-11')).carried).toEqual([])
  await closeStatement(ledger.pool, client, '2026-10', HOW)
  expect((await selectStatement(ledger.pool, client, '2026-11')).carried).toEqual([])
  const { rows } = await ledger.pool.query(
    `select sum((document::json->>'total_usd')::numeric)::text as stated from tallygate.statements
     where client_id = $1`,
    [client.id],
  )
  const spent = (await usagePico('2026-08')) + (await usagePico('2026-09')) + (await usagePico('2026-10'))
  expect(BigInt(rows[0].stated.replace('.', '').replace(/^0+/, ''))).toBe(spent)
})

test.each(['0000-01', '9999-12', '2026-13', '2026-1'])('%s is refused as a month', (month) => {
  expect(isMonth(month)).toBe(false)
})

test('months are closed in their order, each once', async () => {
  await count(call('2026-08-10'), call('2026-09-10'))
  const close = (month: string) => closeStatement(ledger.pool, client, month, HOW)
  await expect(close('2026-09')).rejects.toThrow(
    `${client.name} has usage or charges in 2026-08, which is not closed yet.`,
  )
  const both = await Promise.allSettled([close('2026-08'), close('2026-08')])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await expect(close('2026-08')).rejects.toThrow(`The statements of ${client.name} are closed up to 2026-08.`)
  await close('2026-09')
  await expect(close('2026-07')).rejects.toThrow('closed up to 2026-09')
})

test('what came to a closed month is carried over months without usage', async () => {
  await count(call('2026-07-10'))
  await closeStatement(ledger.pool, client, '2026-07', HOW)
  await credit('2026-07-11', -5n, 'too dear')
  await credit('2027-01-01', -9n, 'for later')
  await count(call('2026-10-10'))
  const carried = [{ month: '2026-07', amountPico: -5n }]
  expect((await selectStatement(ledger.pool, client, '2026-10')).carried).toEqual(carried)
  expect((await selectStatement(ledger.pool, client, '2026-11')).carried).toEqual([])
  const { document } = await closeStatement(ledger.pool, client, '2026-10', HOW)
  expect(JSON.parse(document)).toMatchObject({
    carried: [{ month: '2026-07', amount_usd: '-0.000000000005' }],
  })
  expect((await selectStatement(ledger.pool, client, '2026-11')).carried).toEqual([])
})

test('months of many clients are closed at once, and of two months of one client the order holds', async () => {
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, index) => createClient(ledger.pool, `of ${client.name}: ${index}`)),
  )
  const clients = made.flatMap((one) => one ?? [])
  await count(...clients.map(({ id }) => ({ ...call('2026-10-10'), clientId: id })))
  await Promise.all(clients.map((one) => closeStatement(ledger.pool, one, '2026-10', HOW)))
  const listed = (await run('statements.list', { month: '2026-10' })) as { readonly clientId: string }[]
  expect(listed).toMatchObject(listed.map(() => ({ month: '2026-10' })))
  const ids = listed.map(({ clientId }) => clientId)
  expect(ids).toEqual(expect.arrayContaining(clients.map(({ id }) => id)))
  for (const asked of [clients[0]?.name, clients[0]?.id])
    expect(await run('statements.list', { client: asked })).toMatchObject([
      { client: clients[0]?.name, month: '2026-10', totalUsd: '0.0027', closedBy: 'ann' },
    ])
  const both = await Promise.allSettled([
    closeStatement(ledger.pool, client, '2026-08', HOW),
    closeStatement(ledger.pool, client, '2026-09', HOW),
  ])
  const { rows } = await ledger.pool.query<{ month: string; previous: string | null }>(
    `select month, document::json->>'previous' as previous from tallygate.statements
     where client_id = $1 order by month`,
    [client.id],
  )
  expect(rows).toHaveLength(both.filter(({ status }) => status === 'fulfilled').length)
  expect(rows.filter(({ previous }) => previous === null)).toHaveLength(1)
})

function ports(changes: Partial<StatementPorts> = {}): StatementPorts {
  return {
    pool: ledger.pool,
    read: (work) => work(ledger.pool),
    now: () => NOW_MS,
    holds: () => false,
    progress: () => ({ at() {} }),
    remark() {},
    newKeyPepper: () => PEPPER,
    ownJournals: () => null,
    inspectLedger: async () => ({
      ledger: {
        streams: [],
        producerCount: 0,
        producers: [],
        gaps: [],
        gapCount: 0,
        missingRecords: 0n,
        deadLetters: 0,
        newestDeadLetterAt: null,
      },
      backlogs: new Map(),
      redisProblem: null,
      journals: new Map(),
      corruptJournals: 0,
    }),
    ...changes,
  }
}

/** As the command line and HTTP do. */
async function run(name: string, input: object, given = ports()): Promise<unknown> {
  const operation = STATEMENTS_CHAPTER.operations.find((one) => one.name === name)
  if (operation === undefined) throw new Error(`there is no ${name}`)
  return await runOperation(operation, given, { ...input }, { name: 'ann', from: 'here', who: 'ann' })
}

test('a month is provisional while it runs, and while something of it may not be counted', async () => {
  const names = async (month: string, given = ports()) =>
    (await findOpenEnds(given, client.id, month)).map(({ name }) => name)
  expect(await names('2026-11')).toEqual(['month_not_over'])
  expect(await names('2026-10')).toEqual([])
  const overview = await ports().inspectLedger()
  const waiting = (oldestMs: number) =>
    ports({
      inspectLedger: async () => ({ ...overview, backlogs: new Map([['s', { entries: 3, oldestMs }]]) }),
    })
  expect(await names('2026-10', waiting(1_000))).toEqual([])
  const justOver = (sinceMs: number, changes: Partial<StatementPorts> = {}) =>
    ports({ ...changes, now: () => Date.parse('2026-11-01T00:00:00Z') + sinceMs })
  expect(await names('2026-10', justOver(-1))).toEqual(['month_not_over'])
  // Calls that began in it run, and their records come behind its end.
  expect(await names('2026-10', justOver(0))).toEqual(['running_calls'])
  expect(await names('2026-10', justOver(3_600_000))).toEqual([])
  expect(await names('2026-10', justOver(3_660_000, waiting(120_000)))).toEqual(['waiting_records'])
  expect(await names('2026-10', waiting(40 * 86_400_000))).toEqual(['waiting_records'])
  const noRedis = ports({
    inspectLedger: async () => ({ ...overview, backlogs: null, redisProblem: 'away' }),
  })
  expect(await names('2026-10', noRedis)).toEqual(['waiting_records'])
  const journals = ports({ inspectLedger: async () => ({ ...overview, journals: new Map([['p', 5]]) }) })
  expect(await names('2026-10', journals)).toEqual(['unread_journals'])
  // A gateway on another machine said so, and is silent since.
  await ledger.pool.query(
    `insert into tallygate.gateway_journals
       (gateway, uncommitted_records, uncommitted_bytes, max_bytes, oldest_uncommitted_ms, at)
     values ('there:1', 4, 1, 9, 7200000, '2026-11-01T02:30:00Z')`,
  )
  expect(await names('2026-10')).toEqual(['unread_journals'])
  expect(await names('2026-09')).toEqual([])
  await ledger.pool.query('delete from tallygate.gateway_journals')
  await ledger.pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason, recorded_at)
     values ('gone', 1, 4, 'test', '2026-10-15')`,
  )
  await ledger.pool.query(
    `insert into tallygate.objects (upstream, folded_id, id, kind, client_id, key_id, call_id, created_at, job)
     values ('openai', $1, $1, 'batch', $2, 'key_a', gen_random_uuid(), '2026-10-20', true)`,
    [`batch_${named}`, client.id],
  )
  await ledger.pool.query(
    `insert into tallygate.dead_letters (producer, sequence, stream, body, message, at)
     values ('p', 1, 's', '', 'no', '2026-10-16')`,
  )
  expect(await names('2026-10')).toEqual(['gaps', 'dead_letters', 'unsettled_jobs'])
  expect(await names('2026-09')).toEqual(['gaps', 'dead_letters'])
  await expect(run('statements.close', { id: client.name, month: '2026-10' })).rejects.toThrow(
    'The month may still change. gaps: 4 records are missing',
  )
  const accepted = ['gaps', 'dead_letters', 'unsettled_jobs']
  expect(await run('statements.close', { id: client.name, month: '2026-10', accepted })).toMatchObject({
    statement: { accepted },
  })
  await ledger.pool.query('delete from tallygate.ledger_gaps')
  await ledger.pool.query('delete from tallygate.dead_letters')
})

test('a closed statement is checked by its file and the public key alone, and any change of it is seen', async () => {
  await count(call('2026-10-01'), call('2026-10-02'))
  await credit('2026-10-07', -1_000n, 'goodwill <b>"é</b>')
  const shown = await run('statements.close', { id: client.name, month: '2026-10' })
  expect(await run('statements.show', { id: client.id, month: '2026-10' })).toEqual(shown)
  const { public_key: key } = (await run('statements.key', {})) as { readonly public_key: string }
  const check = (text: string, expected: string | null = key) => {
    const file = parseStatementFile(text)
    return file === null
      ? ['unreadable']
      : checkStatement(file, expected === null ? null : parsePublicKey(expected))
  }
  const text = JSON.stringify(shown)
  expect(check(text)).toEqual([])
  // However it was laid out.
  expect(check(JSON.stringify(JSON.parse(text), null, 2), null)).toEqual([])
  const body = JSON.stringify((shown as { readonly statement: object }).statement)
  let altered = 0
  for (let at = 1; at < body.length - 1; at += 1) {
    const changed = `${body.slice(0, at)}${body[at] === '7' ? '8' : '7'}${body.slice(at + 1)}`
    const found = check(text.replace(body, () => changed))
    if (found.length > 0) altered += 1
  }
  expect(altered).toBe(body.length - 2)
  const other = await run('statements.key', {}, ports({ newKeyPepper: () => 'another pepper' }))
  expect(check(text, (other as { readonly public_key: string }).public_key)).toEqual([
    'The statement is signed with another key than the expected one.',
  ])
  expect(check(JSON.stringify({ ...(shown as object), signature: null }))[0]).toContain('not closed')
  expect(check('{}')).toEqual(['unreadable'])
})

test.each([
  [4_999_999_999n, 0n],
  [5_000_000_000n, 10_000_000_000n],
  [-5_000_000_000n, -10_000_000_000n],
  [-4_999_999_999n, 0n],
  [1_234_567_890_123n, 1_230_000_000_000n],
])('%i pico-dollars are rounded to %i', (pico, rounded) => {
  expect(roundToCents(pico)).toBe(rounded)
})
