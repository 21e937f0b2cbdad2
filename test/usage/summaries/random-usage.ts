import fc from 'fast-check'
import { expect } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { addCredit } from '../../../src/corrections/adjustments.ts'
import { addDays } from '../../../src/domain/utc-day.ts'
import { closeDay, closeMonth, summarise } from '../../../src/usage/summaries/summarise.ts'
import { type LedgerDatabase, NO_LIMIT_MS } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'

/** Counts the records, as the next ones of a producer of their own. */
export async function addRecords(ledger: LedgerDatabase, records: readonly CallRecord[]): Promise<void> {
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

export const FIRST_DAY = '2026-01-25'
export const DAYS = 70
export const day = fc.integer({ min: 0, max: DAYS - 1 }).map((days) => addDays(FIRST_DAY, days))
export const client = fc.constantFrom('cli_a', 'cli_b', 'cli_c')

export const record = fc
  .record({
    day,
    clientId: client,
    key: fc.constantFrom('1', '2'),
    model: fc.constantFrom('gpt-4o', 'claude', '(unknown)'),
    upstream: fc.constantFrom('openai', 'other'),
    priceId: fc.constantFrom(null, 'whole', 'in part'),
    costPico: fc.bigInt({ min: 0n, max: 10n ** 20n }),
    status: fc.constantFrom(200, 200, 500),
    usageSource: fc.constantFrom('reported', 'estimated', 'none') as fc.Arbitrary<CallRecord['usageSource']>,
    inputTokens: fc.nat(1_000_000),
    latencyUs: fc.option(fc.nat(60_000_000)),
    ttftUs: fc.option(fc.nat(5_000_000)),
    cacheReadTokens: fc.option(fc.nat(1_000)),
  })
  .map(({ day, key, priceId, costPico, usageSource, inputTokens, cacheReadTokens, ...rest }) =>
    aRecord({
      ...rest,
      arrivedAtMs: Date.parse(`${day}T12:00:00Z`),
      keyId: `key_${rest.clientId}_${key}`,
      priceId,
      costPico: priceId === null ? null : `${costPico}`,
      usageSource,
      usage:
        usageSource === 'none' ? NO_USAGE : { ...NO_USAGE, inputTokens, cacheReadTokens, outputTokens: 7 },
    }),
  )

export const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('add' as const),
      records: fc.array(record, { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('credit' as const),
      day,
      clientId: client,
      pico: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('close' as const), days: fc.array(day, { maxLength: 20 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('close all' as const) }) },
)
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Does it. Days are closed as the job does. */
export async function take(ledger: LedgerDatabase, step: Step): Promise<void> {
  if (step.kind === 'add') await addRecords(ledger, step.records)
  else if (step.kind === 'credit') {
    const { day, clientId, pico } = step
    await addCredit(ledger.pool, { clientId, day, model: null, pico, who: 'me', why: 'test' })
  } else if (step.kind === 'close') {
    for (const day of step.days) await closeDay(ledger.pool, day)
    await closeMonth(ledger.pool, '2026-02-01')
  } else expect(await summarise(ledger.pool, NO_LIMIT_MS)).toMatchObject({ failed: [], isDone: true })
}
