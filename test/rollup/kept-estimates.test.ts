import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type LedgerDatabase, openLedgerDatabase } from './ledger-database.ts'
import { aCandidate, aRecord, newProducer } from './records.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyTables(ledger.pool, [
    'daily_usage',
    'daily_latency',
    'call_rows',
    'producers',
    'responses_seen',
    'objects',
  ])
})

/** A stream that its client left: the provider keeps the response, and goes on with it. */
const cut = (id: string, changes: Partial<CallRecord> = {}): CallRecord =>
  aRecord({
    path: '/v1/responses',
    outcome: 'client_aborted',
    usageSource: 'estimated',
    usage: { ...NO_USAGE, inputTokens: 90, outputTokens: 15, reasoningTokens: 4 },
    usageRaw: null,
    costPico: '375000000',
    responseId: id,
    responseUse: 'created',
    objects: [{ id, kind: 'response', is: 'created', job: true }],
    ...changes,
  })

const fetching = (id: string, changes: Partial<CallRecord> = {}): CallRecord =>
  aRecord({
    clientId: '(gateway)',
    keyId: '(gateway)',
    method: 'GET',
    path: `/v1/responses/${id}`,
    responseId: id,
    responseUse: 'fetched',
    latencyUs: null,
    ttftUs: null,
    ...changes,
  })

async function rollUp(...records: readonly CallRecord[]): Promise<void> {
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

async function totals() {
  const { rows } = await ledger.pool.query(
    `select sum(requests)::int as requests, sum(input_tokens)::int as input, sum(output_tokens)::int as output,
       sum(cost_pico)::text as cost, coalesce(sum(estimated_output_tokens), 0)::int as estimated,
       coalesce(sum(reasoning_tokens), 0)::int as reasoning
     from tallygate.daily_usage where client_id = 'cli_a'`,
  )
  return rows[0]
}

/** What the totals say is what the single calls say. */
async function expectSound(): Promise<void> {
  const { differences, proof } = await verifyLedger(ledger.pool, '2020-01-01')
  expect(differences.filter(({ against }) => against === 'calls')).toEqual([])
  expect(proof.totals).toBe(proof.counted)
}

const FETCHED = { requests: 1, input: 100, output: 20, cost: '450000000', estimated: 0, reasoning: 0 }

test.each([
  [
    'in a later batch',
    async () => {
      await rollUp(cut('resp_1'))
      expect(await totals()).toMatchObject({ input: 90, output: 15, cost: '375000000', estimated: 15 })
      await rollUp(fetching('resp_1'))
    },
  ],
  ['in the same batch', () => rollUp(cut('resp_1'), fetching('resp_1'))],
  [
    'again and again',
    async () => {
      await rollUp(cut('resp_1'))
      await rollUp(fetching('resp_1'), fetching('resp_1'))
      await rollUp(fetching('resp_1'))
    },
  ],
  [
    'after a fetch that was cut itself',
    async () => {
      await rollUp(
        cut('resp_1', {
          usageSource: 'none',
          usage: NO_USAGE,
          costPico: null,
          priceId: null,
          unpricedReason: 'no_figures',
        }),
      )
      await rollUp(
        fetching('resp_1', {
          usageSource: 'estimated',
          costPico: '1',
          usage: { ...NO_USAGE, inputTokens: 5, outputTokens: 5 },
        }),
      )
      await rollUp(fetching('resp_1'))
    },
  ],
])('the figures of a response take the place of its estimate, fetched %s', async (_, count) => {
  await count()
  expect(await totals()).toEqual(FETCHED)
  await expectSound()
})

test('an estimate is taken back once, whatever number of models its figures are of', async () => {
  await rollUp(cut('resp_1'))
  const { callId: _, ...record } = fetching('resp_1')
  const use = (model: string) => ({ ...record, id: 'resp_1', model, reportedModel: model })
  const none = {
    usageSource: 'none',
    usage: NO_USAGE,
    costPico: '0',
    priceId: null,
    responseId: null,
  } as const
  await rollUp(fetching('resp_1', { ...none, jobs: [use('gpt-4o'), use('gpt-4o-mini')] }))
  expect(await totals()).toMatchObject({ input: 200, output: 40, cost: '900000000', estimated: 0 })
  await expectSound()
})

test('where an id is made twice, each estimate stands: figures of one are not those of the other', async () => {
  await rollUp(cut('resp_1'))
  await rollUp(cut('resp_1'))
  await rollUp(fetching('resp_1'))
  expect(await totals()).toMatchObject({ requests: 2, input: 280, cost: '1200000000' })
  await expectSound()
})
