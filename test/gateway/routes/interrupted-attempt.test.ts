import { expect, test } from 'vitest'
import { attemptIdOf, type JobUse, type OpenCall } from '../../../src/call/call-record.ts'
import { parseRecord, serialiseRecord } from '../../../src/call/codec/record-codec.ts'
import { NOTHING_OBSERVED } from '../../../src/call/observation.ts'
import { NO_UNITS, NO_USAGE } from '../../../src/call/usage.ts'
import { buildInterrupted } from '../../../src/gateway/recording/finalize-call.ts'
import { encodeSnapshotOf } from '../../../src/gateway/recording/snapshot-saver.ts'

const OPEN: OpenCall = {
  callId: '0190c1d2-0000-7000-8000-000000000000',
  arrivedAtMs: 1_700_000_000_000,
  clientId: 'client',
  keyId: 'key',
  upstream: 'first',
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  requestedModel: 'gpt-4o-eu',
  webSocket: false,
}
const USE: JobUse = {
  id: attemptIdOf(OPEN.callId, 1),
  attempt: { upstream: 'first', provider: 'openai', requestedModel: 'gpt-4o-eu' },
  reportedModel: null,
  model: 'gpt-4o-eu',
  usageSource: 'estimated',
  usage: { ...NO_USAGE, inputTokens: 12, outputTokens: 0 },
  units: NO_UNITS,
  usageRaw: null,
  costPico: '30000000',
  priceId: 'p1',
  price: '{"id":"p1"}',
}
const PRICING = {
  priceCall: () => ({ kind: 'priced', costPico: 7n, priceId: 'p2', definition: null }) as const,
  knowsModel: () => true,
}

function snapshotAt(number: number, observation = NOTHING_OBSERVED, status: number | null = null): string {
  return encodeSnapshotOf(
    {
      call: {
        ...OPEN,
        upstream: 'second',
        provider: 'anthropic',
        requestedModel: 'gpt-4o',
        path: '/v1/other',
      },
      client: { clientName: 'team' },
      dialect: null,
      attempt: { number, uses: [USE], startedAt: 0 },
    },
    observation,
    status,
  )
}

test('a call that a crash cuts between attempts is settled with the last, and with what those before may cost', () => {
  const record = buildInterrupted(OPEN, snapshotAt(2), PRICING)
  expect(record).toMatchObject({
    callId: OPEN.callId,
    upstream: 'second',
    provider: 'anthropic',
    requestedModel: 'gpt-4o',
    path: '/v1/other',
    outcome: 'interrupted',
    status: null,
    costPico: '0',
    jobs: [USE],
  })
})

test('so is one that a crash cuts amid its answer, with what that had reported', () => {
  const usage = { ...NO_USAGE, inputTokens: 3, outputTokens: 4 }
  const observed = { ...NOTHING_OBSERVED, usageSource: 'reported' as const, usage }
  const record = buildInterrupted(OPEN, snapshotAt(3, observed, 200), PRICING)
  expect(record).toMatchObject({ upstream: 'second', status: 200, usage, costPico: '7', jobs: [USE] })
})

test('the record of attempts survives its text', () => {
  const record = buildInterrupted(OPEN, snapshotAt(2), PRICING)
  expect(parseRecord(serialiseRecord(record))).toMatchObject({ jobs: [USE] })
})

test('releases without attempts read the snapshot as one of a call that reported nothing', () => {
  // These ask for `usage`, `units` and one of four words, and pass over the rest.
  expect(JSON.parse(snapshotAt(2))).toMatchObject({ usage: {}, units: {}, usageSource: 'none' })
})
