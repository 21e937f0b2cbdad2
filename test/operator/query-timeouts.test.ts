import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgres, type Postgres, type PostgresSession } from '../../src/store/connection/postgres.ts'
import { quiet } from '../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { type Operator, startOperator } from './support/operator.ts'

let database: TestDatabase
let impatient: Postgres
let patient: Postgres
let blocker: PostgresSession
let operator: Operator

beforeAll(async () => {
  database = await createTestDatabase()
  const open = (statementTimeoutMs: number) =>
    openPostgres(database.url, { max: 2, statementTimeoutMs, applicationName: 'test', log: quiet })
  impatient = open(300)
  patient = open(60_000)
  operator = await startOperator({ pool: impatient })
  // Every query of usage waits from here on, as it would for a table that is too large.
  blocker = await patient.connect()
  await blocker.query('begin')
  await blocker.query('set local idle_in_transaction_session_timeout = 0')
  await blocker.query('lock table tallygate.daily_usage in access exclusive mode')
})
afterAll(async () => {
  blocker.release(true)
  await operator.close()
  await Promise.all([impatient.end(), patient.end()])
  await database.drop()
})

test.each([
  'usage?days=365',
  'usage?by=client',
  'unpriced',
])('GET /admin/v1/%s that takes too long says so and what to narrow, never that a store is away', async (url) => {
  const { status, document } = await operator.ask(`/admin/v1/${url}`)
  expect([status, document]).toEqual([
    504,
    {
      error: {
        type: 'service_unavailable',
        code: 'query_timeout',
        param: null,
        message:
          'The answer took too long to work out. Ask for less: fewer days, one client, or fewer groups.',
      },
    },
  ])
  expect(operator.log()).toContain('57014')
})

test('a check of doctor that takes too long hides no other', async () => {
  const { status, document } = await operator.ask('/admin/v1/doctor')
  expect(status).toBe(200)
  const { checks } = document as { checks: { name: string; state: string; detail: string }[] }
  expect(checks.find(({ name }) => name === 'prices')).toMatchObject({
    state: 'note',
    detail: 'not known: Postgres answers, but took too long to work it out',
  })
  expect(checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['postgres', 'gaps', 'jobs', 'redis']),
  )
})
