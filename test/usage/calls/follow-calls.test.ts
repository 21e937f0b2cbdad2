import { expect, test } from 'vitest'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { follow } from '../../../src/usage/calls/list-operations.ts'
import type { ListedCall } from '../../../src/usage/calls/own-calls.ts'

const CALL: ListedCall = {
  call_id: '00000000-0000-7000-8000-000000000001',
  arrived_at: new Date('2026-11-25T12:00:00.000Z'),
  client: 'acme',
  upstream: 'openai',
  key_id: 'key_1',
  key_name: 'ci',
  requested_model: 'gpt-4o',
  model: 'gpt-4o',
  method: 'POST',
  path: '/v1/chat/completions',
  status: 200,
  outcome: 'complete',
  usage_source: 'reported',
  input_tokens: '13',
  output_tokens: '56',
  cost_pico: '35550000',
  latency_ms: '16.2',
  ttft_ms: null,
}

/** A database with these calls at each of its readings, the last one from then on. */
function databaseOf(...readings: readonly (readonly ListedCall[])[]): Postgres {
  let at = 0
  // Of each reading the day before has nothing.
  const query = async (_text: string, [day]: readonly unknown[]) => {
    if (day !== '2026-11-25') return { rows: [] }
    at += 1
    return { rows: readings[Math.min(at, readings.length) - 1] }
  }
  return { query } as unknown as Postgres
}

test('calls that are counted from then on are shown once each, also one that began before others', async () => {
  const [old, late, next, unpriced] = ['1', '2', '3', '4'].map((last) => ({
    ...CALL,
    call_id: CALL.call_id.replace(/1$/, last),
    cost_pico: last === '4' ? null : CALL.cost_pico,
    client: last === '3' ? 'evil\u{1b}[2J' : 'acme',
  })) as [ListedCall, ListedCall, ListedCall, ListedCall]
  const database = databaseOf([old], [next, old], [unpriced, next, late, old])
  const scope = { clientId: null, keyId: null, model: null, upstream: null, hasFailed: false }
  const lines = follow(database, scope, () => CALL.arrived_at.getTime(), 1)
  expect((await lines.next()).value?.text).toBe('')
  expect((await lines.next()).value?.text).toBe(
    `2026-11-25T12:00:00  evil\u{fffd}[2J  gpt-4o  200  13 in, 56 out, 0.00003555 USD  ${next.call_id}\n`,
  )
  const last = (await lines.next()).value?.text
  expect(last).toContain(`acme  gpt-4o  200  13 in, 56 out, 0.00003555 USD  ${late.call_id}\n`)
  expect(last).toContain(`13 in, 56 out, unpriced  ${unpriced.call_id}\n`)
  expect(last?.split('\n')).toHaveLength(3)
  await lines.return(undefined)
})
