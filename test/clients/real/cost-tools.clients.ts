import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { parseUsdText, picoToUsdNumber, picoToUsdText } from '../../../src/domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../../src/domain/utc-day.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey } from '../../../src/keys/keys.ts'
import { addDailyUsage } from '../../operator/support/daily-usage.ts'
import { type Operator, startOperator, TOKEN } from '../../operator/support/operator.ts'
import { folderOf } from './installed.ts'

// A tool that others made for OpenAI's and Anthropic's cost reports, which reads ours.

const PROGRAM = fileURLToPath(new URL('./programs/cost-report.py', import.meta.url))
const TODAY = utcDayOf(Date.now())
/** More than a page of Anthropic's. */
const FROM = addDays(TODAY, -40)

let operator: Operator
let url: string
let folder: string

beforeAll(async () => {
  operator = await startOperator()
  const { pool } = operator
  for (const client of ['acme', 'other']) {
    await createClient(pool, client)
    await createClientKey(pool, { client, name: 'live', models: null, expiresInSeconds: null }, 'pepper')
  }
  for (let day = FROM, index = 1; day <= TODAY; day = addDays(day, 3), index += 1)
    for (const [client, model] of [
      ['acme', 'gpt-4o'],
      ['acme', 'claude'],
      ['other', 'claude'],
    ] as const)
      await addDailyUsage(pool, client, day, model, {
        requests: index,
        cost_pico: `${BigInt(index) * 12_345_678_901n}`,
      })
  url = await operator.app.listen({ port: 0, host: '127.0.0.1' })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-costs-'))
})
afterAll(async () => {
  await operator?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

interface CostRecord {
  readonly date: string
  readonly project_id: string | null
  readonly project_name: string | null
  readonly workspace_id: string | null
  readonly workspace_name: string | null
  readonly api_key_id: string | null
  readonly line_item: string
  readonly raw_amount: string | { readonly value: number; readonly currency: string }
}

interface Summary {
  readonly group: string
  readonly amount: string
}

/** What its command line prints, and what it complains of. */
async function readCosts(context: TestContext, provider: 'openai' | 'anthropic', group: string) {
  const { stdout, stderr } = await promisify(execFile)(
    'python3',
    [
      PROGRAM,
      ...['summary', '--provider', provider, '--start', FROM, '--end', TODAY],
      ...['--group', group, '--format', 'json'],
    ],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        BASE: url,
        OPENAI_ADMIN_KEY: TOKEN,
        ANTHROPIC_ADMIN_KEY: TOKEN,
        PYTHONPATH: folderOf('cost-tools', context),
        PYTHONDONTWRITEBYTECODE: '1',
        NO_PROXY: '127.0.0.1',
      },
    },
  )
  const printed: { readonly records: readonly CostRecord[]; readonly summary: readonly Summary[] } =
    JSON.parse(stdout)
  return { ...printed, stderr }
}

interface Row {
  readonly day: string
  readonly client: string
  readonly client_id: string
  readonly key_id: string
  readonly model: string
  readonly pico: string
}

/** Our own, until and with the day. */
async function rowsUntil(day: string): Promise<Row[]> {
  const { rows } = await operator.pool.query<Row>(
    `select u.day::text, c.name as client, client_id, key_id, model, cost_pico::text as pico
     from tallygate.daily_usage u join tallygate.clients c on c.id = u.client_id where u.day <= $1`,
    [day],
  )
  expect(rows.length).toBeGreaterThan(35)
  return rows
}

function sumsByClient(rows: readonly Row[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  for (const { client, pico } of rows) sums[client] = (sums[client] ?? 0n) + BigInt(pico)
  return sums
}

const inOrder = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()

test('llm-org-cost-monitor reads OpenAI’s costs: each by day, client, key and model is that of daily_usage', async (context) => {
  const { records, summary, stderr } = await readCosts(context, 'openai', 'project')
  const ours = await rowsUntil(TODAY)
  expect(stderr).toBe('')
  expect(
    inOrder(
      records.map(({ date, project_id, project_name, api_key_id, line_item, raw_amount }) => ({
        ...{ date, project_id, project_name, api_key_id, line_item, raw_amount },
      })),
    ),
  ).toEqual(
    inOrder(
      ours.map(({ day, client_id, client, key_id, model, pico }) => ({
        date: day,
        project_id: client_id,
        project_name: client,
        api_key_id: key_id,
        line_item: model,
        raw_amount: { currency: 'usd', value: picoToUsdNumber(BigInt(pico)) },
      })),
    ),
  )
  expect(Object.fromEntries(summary.map(({ group, amount }) => [group, parseUsdText(amount)]))).toEqual(
    sumsByClient(ours),
  )
})

test('it reads Anthropic’s costs of the days that are over: each by day, client and model is that of daily_usage', async (context) => {
  const { records, summary, stderr } = await readCosts(context, 'anthropic', 'workspace')
  const ours = await rowsUntil(addDays(TODAY, -1))
  expect(stderr).toBe('')
  expect(
    inOrder(
      records.map(({ date, workspace_id, workspace_name, line_item, raw_amount }) => ({
        ...{ date, workspace_id, workspace_name, line_item, raw_amount },
      })),
    ),
  ).toEqual(
    inOrder(
      ours.map(({ day, client_id, client, model, pico }) => ({
        date: day,
        workspace_id: client_id,
        workspace_name: client,
        line_item: model,
        // In cents. What it prints itself it rounds to millionths of a dollar.
        raw_amount: picoToUsdText(BigInt(pico) * 100n),
      })),
    ),
  )
  const [sums, places] = [sumsByClient(ours), 6]
  for (const { group, amount } of summary)
    expect(Math.abs(Number(amount) - picoToUsdNumber(sums[group] ?? 0n))).toBeLessThan(
      ours.length * 10 ** -places,
    )
  expect(summary.map(({ group }) => group).sort()).toEqual(Object.keys(sums).sort())
})
