import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { json, run } from './command-line.ts'

const DAY = addDays(utcDayOf(Date.now()), -1)
const CALLS = 4
const DAYS = ['--from', DAY, '--to', DAY] as const

let ledger: LedgerDatabase
let folder: string
let env: Environment

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-what-if-'))
  env = {
    DATABASE_URL: ledger.url,
    TALLYGATE_CONFIG: join(folder, 'config.yaml'),
    TALLYGATE_DATA_DIR: folder,
  }
  const upstreams = ['openai', 'anthropic'].map((name) => `{ name: ${name}, url: "https://api.${name}.com" }`)
  await writeFile(join(folder, 'config.yaml'), `upstreams: [${upstreams.join(', ')}]\n`)
  await writeFile(join(folder, 'offer.yaml'), "prices: [{ model: gpt-4o-*, input: '1', output: '2' }]\n")
  const client = await createClient(ledger.pool, 'acme')
  const producer = newProducer()
  const call = aRecord({ clientId: client?.id ?? '', arrivedAtMs: Date.parse(`${DAY}T12:00:00Z`) })
  const cost = buildCatalog().priceCall({
    ...{ ...call, clientName: 'acme', model: call.reportedModel, serviceTier: null },
    ...{ reportedCostPico: null, parts: null },
  })
  if (cost.kind === 'unpriced') throw new Error('gpt-4o has a price')
  const priced = { costPico: `${cost.costPico}`, priceId: cost.priceId, price: cost.price.json }
  await ledger.rollUp(
    'test',
    Array.from({ length: CALLS }, (_, index) =>
      aCandidate(producer, index + 1, { ...call, ...priced, callId: crypto.randomUUID() }),
    ),
  )
})
afterAll(async () => {
  await ledger.drop()
  await rm(folder, { recursive: true, force: true })
})

test('a file of prices says what calls would have cost: 100 tokens and 20 of them', async () => {
  const offer = join(folder, 'offer.yaml')
  expect(await json(env, 'usage', 'what-if', ...DAYS, '--prices', offer)).toMatchObject({
    ...{ from: DAY, to: DAY, calls: CALLS, changed_calls: CALLS, now_usd: '0.0018' },
    ...{ then_least_usd: '0.00056', then_most_usd: '0.00056', difference_most_usd: '-0.00124' },
    ...{ calls_one_by_one: CALLS, left_out: [], remarks: [] },
    rows: [{ client: 'acme', model: 'gpt-4o-2024-08-06', calls: CALLS }],
  })
})

test('a model of another maker is priced where it is served, between two bounds', async () => {
  const swap = ['--swap', 'gpt-4o*=claude-sonnet-4-5', '--client', 'acme'] as const
  const text = await run(env, 'usage', 'what-if', ...DAYS, ...swap)
  expect(text.out).toMatch(/0\.0018 +0\.00\d+ to 0\.00\d+/)
  expect(text.out).toContain('claude-sonnet-4-5 in place of models at openai: priced at anthropic.')
  const bad = await run(env, 'usage', 'what-if', ...DAYS, '--tier', 'batch=batch')
  expect([bad.code, bad.err]).toEqual([2, expect.stringContaining('tier')])
})

test('a limit is tried on the past by the terms that set it', async () => {
  const limit = ['limits', 'replay', '--client', 'acme', ...DAYS] as const
  expect(await json(env, ...limit, '--rpm', '1')).toMatchObject({
    ...{ from: DAY, to: DAY, calls: CALLS, refused_calls: CALLS - 1, refused_usd: '0.00135' },
    clients: [{ client: 'acme', refused_calls: CALLS - 1 }],
    days_without_calls: [],
  })
  const text = await run(env, ...limit, '--budget', '0.001', '--per', 'day')
  expect(text.out).toMatch(/0\.001 USD: budget a day/)
  const two = await run(env, ...limit, '--rpm', '1', '--tpm', '1')
  expect([two.code, two.err]).toEqual([2, expect.stringContaining('one is replayed at a time')])
})
