import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createClientKey } from '../../src/keys/keys.ts'
import { LATER_DIMENSIONS } from '../../src/usage/dimensions.ts'
import { EXPORT_COLUMNS } from '../../src/usage/export/export-columns.ts'
import { run } from '../cli/command-line.ts'
import { clockOfDate } from '../clock/clock.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'

/**
 * The documents of usage and the exports are contract: each test holds the very bytes. A dimension that came
 * later adds a column behind these and a word to messages; rows without a value of it say nothing else.
 */

const TODAY = '2026-03-01'
const YESTERDAY = '2026-02-28'
vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(`${TODAY}T12:00:00Z`) })
const ADMIN_TOKEN = 'operator-token'

let upstream: TestUpstream
let stack: TestStack
let acme: TestClient
let other: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url, { env: { ADMIN_TOKEN }, workers: false, clock: clockOfDate() })
  acme = await stack.addClient('acme')
  other = await stack.addClient('other')
  const laptop = { client: 'acme', name: 'a laptop', models: null, expiresInSeconds: null }
  const second = await createClientKey(stack.pool, laptop, 'pepper')
  // Rows are in the order of their ids.
  for (const [name, id] of Object.entries({ key_1: acme.keyId, key_2: second?.id, key_3: other.keyId })) {
    await stack.pool.query('update tallygate.keys set id = $1 where id = $2', [name, id])
  }
  await stack.pool.query(
    `insert into tallygate.prices (price_id, definition) values ('part', '{"unpriced": []}')`,
  )
  const ofAcme = { client_id: acme.id, key_id: 'key_1' }
  await addRow({
    ...ofAcme,
    requests: 3,
    reported: 1,
    partial: 1,
    estimated: 1,
    errors: 1,
    input_tokens: 1_000,
    output_tokens: 234,
    cache_read_tokens: 17,
    video_input_tokens: 3,
    web_searches: 2,
    trained_tokens: 5,
    estimated_input_tokens: 9,
    estimated_output_tokens: 4,
    latency_us_sum: '9007199254740993',
    latency_count: 2,
    cost_pico: '12345678901234567890',
    adjusted_pico: '-1000000000001',
  })
  await addRow({ ...ofAcme, key_id: 'key_2', price_id: 'part', requests: 2, input_tokens: 7, cost_pico: '5' })
  await addRow({
    ...ofAcme,
    day: YESTERDAY,
    model: '(unknown)',
    price_id: '',
    requests: 4,
    settlements: 2,
    without_usage: 1,
    invalid: 1,
    unpriced: 3,
    priced_later: 1,
    without_figures: 1,
    input_tokens: 50,
    output_tokens: 6,
  })
  await addRow({ ...ofAcme, day: YESTERDAY, key_id: 'key_gone', model: '=x"', requests: 1, latency_count: 1 })
  await addRow({
    client_id: acme.id,
    key_id: '',
    model: '(adjustment)',
    upstream: '',
    provider: '',
    price_id: '',
    adjusted_pico: '7',
  })
  await addRow({ client_id: other.id, key_id: 'key_3', requests: 1, output_tokens: 1, cost_pico: '250000' })
  await addRow({ client_id: 'cli_gone', key_id: 'key_gone', requests: 1 })
  await addCalls()
})

afterAll(async () => {
  vi.useRealTimers()
  await stack?.stop()
  await upstream?.close()
})

type Figures = Readonly<Record<string, string | number>>

/** Adds a row of totals: of today, at one model and price, where `figures` does not say otherwise. */
async function addRow(figures: Figures): Promise<void> {
  const { rows } = await stack.pool.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage'`,
  )
  const common = { day: TODAY, model: 'gpt-4o', upstream: 'default', provider: 'openai', price_id: 'p#1' }
  const values: Readonly<Record<string, unknown>> = { ...common, ...figures }
  await stack.pool.query('select tallygate.add_usage_months($1)', [[values.day]])
  await stack.pool.query(
    `insert into tallygate.daily_usage (${rows.map(({ name }) => name).join(', ')})
     values (${rows.map((_row, index) => `$${index + 1}`).join(', ')})`,
    rows.map(({ name, type }) => values[name] ?? (type === 'ARRAY' ? [] : type === 'text' ? '' : 0)),
  )
}

async function addCalls(): Promise<void> {
  for (const [day, end] of [
    [YESTERDAY, TODAY],
    [TODAY, '2026-03-02'],
  ]) {
    await stack.pool.query(
      `create table tallygate.call_rows_${day?.replaceAll('-', '')} partition of tallygate.call_rows for values from ('${day}') to ('${end}')`,
    )
  }
  await stack.pool.query(
    `with kinds as (
       insert into tallygate.call_kinds (day, hash, client_id, client, key_id, upstream, provider, model, method, path,
         status, outcome, usage_source, failed_in_body, web_socket, partly_unpriced, price_id)
       values ($1, gen_random_uuid(), $3, 'acme', 'key_1', 'default', 'openai', 'gpt-4o', 'POST', '/v1/x',
           200, 'complete', 'reported', false, false, false, 'p#1'),
         ($1, gen_random_uuid(), $3, 'acme', 'key_1', 'default', 'openai', '(unknown)', 'POST', '/v1/x',
           null, 'upstream_error', 'none', false, false, false, null)
       returning kind, model)
     insert into tallygate.call_rows (day, call_id, arrived_at, kind, input_tokens, output_tokens, cache_read_tokens,
       cost_pico, response_id, told_by, settles, requested_model)
     select $1::date, '00000000-0000-7000-8000-000000000001'::uuid, $2::timestamptz, kind, 10, 2, 3, 1500000, 'resp_1',
       null::uuid, null::uuid, null::text
     from kinds where model = 'gpt-4o' union all
     select $1, '00000000-0000-7000-8000-000000000002', $2, kind, null, null, null, null, null,
       '00000000-0000-7000-8000-000000000003', '00000000-0000-7000-8000-000000000004', 'my-own'
     from kinds where model = '(unknown)'`,
    [TODAY, `${TODAY}T01:02:03.456Z`, acme.id],
  )
}

/** The ids of this run, as the documents name them. */
/** The columns of `csv` and `jsonl` in the release before any later dimension. */
const COLUMNS_BEFORE = 56

function named(text: string): string {
  return withoutLater(text.replaceAll(acme.id, 'cli_acme').replaceAll(other.id, 'cli_other'))
}

/** The document as it was before the later dimensions, of which its rows have no value. */
function withoutLater(text: string): string {
  return LATER_DIMENSIONS.reduce((rest, { column, group }) => {
    const messages = group === undefined ? rest : rest.replaceAll(`, ${group.name},`, ',')
    return withoutColumn(messages.replaceAll(`,"${column}":null`, ''), column)
  }, text)
}

function withoutColumn(csv: string, column: string): string {
  const lines = csv.split('\r\n').map((line) => line.split(','))
  const place = lines[0]?.indexOf(column) ?? -1
  return place === -1 ? csv : lines.map((cells) => cells.toSpliced(place, 1).join(',')).join('\r\n')
}

test('what came later stands behind the columns that were there', () => {
  const before = EXPORT_COLUMNS.slice(0, COLUMNS_BEFORE).map(({ name }) => name)
  expect(before.at(-1)).toBe('settlements')
  expect(LATER_DIMENSIONS.filter(({ column }) => before.includes(column))).toEqual([])
})

async function asked(url: string, token: string): Promise<string> {
  return named(await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text())
}

test.each([
  '',
  '?group_by=day',
  '?group_by=key,model',
  '?group_by=key,day,model&days=1',
])('GET /v1/usage%s', async (query) => {
  expect(await asked(`${stack.url}/v1/usage${query}`, acme.key)).toMatchSnapshot()
})

test.each([
  '',
  '?client=acme',
  '?by=day,model,key,client',
  '?by=client',
  '?group_by=client',
  '?by=key,day&client=acme&days=1',
  '?by=model,%20key',
])('GET /admin/v1/usage%s', async (query) => {
  const { port } = stack.gateway.adminAddress
  expect(await asked(`http://127.0.0.1:${port}/admin/v1/usage${query}`, ADMIN_TOKEN)).toMatchSnapshot()
})

test.each([
  'usage',
  'usage --client acme',
  'usage --by day,model,key,client',
  'usage --by client',
  'usage --by model',
  'usage --by key,day --client acme --days 1',
])('%s', async (line) => {
  const args = line.split(' ')
  const json = await run(stack.env, ...args, '--json')
  const table = await run(stack.env, ...args)
  expect(named(json.out)).toMatchSnapshot()
  expect(named(table.out)).toMatchSnapshot()
})

test.each(['csv', 'jsonl', 'focus', 'cloudevents'])('usage export --format %s', async (format) => {
  const from = format === 'cloudevents' ? TODAY : YESTERDAY
  const { out, err } = await run(
    stack.env,
    'usage',
    'export',
    '--format',
    format,
    '--from',
    from,
    '--client',
    'acme',
  )
  expect(err).toBe('')
  expect(named(out)).toMatchSnapshot()
})

test.each([
  'group_by=client',
  'days=0',
  'days=1&days=2',
  'group_by=day,day',
  'what=1',
])('GET /v1/usage?%s is refused', async (query) => {
  expect(await asked(`${stack.url}/v1/usage?${query}`, acme.key)).toMatchSnapshot()
})

test.each([
  'by=hour',
  'by=',
  'by=model,%20model',
  'by=day&by=model',
  'days=0',
  'days=1&days=2',
  'client=a&client=b',
  'client=',
  'client=nobody',
  'what=1',
  'by=day&group_by=day',
])('GET /admin/v1/usage?%s is refused', async (query) => {
  const { port } = stack.gateway.adminAddress
  expect(await asked(`http://127.0.0.1:${port}/admin/v1/usage?${query}`, ADMIN_TOKEN)).toMatchSnapshot()
})
