import { afterAll, beforeAll, expect, test } from 'vitest'
import { runOperation } from '../../../src/operations/audit/run-operation.ts'
import { NO_PROGRESS } from '../../../src/operations/ports.ts'
import { parseFields } from '../../../src/operations/read-input.ts'
import { applyChapters } from '../../../src/operator/apply/apply-operations.ts'
import { OPERATIONS } from '../../../src/operator/chapters.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  const limits = { max: 2, statementTimeoutMs: 5_000, applicationName: 'test', log: quiet }
  pool = openPostgres(database.url, limits)
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** As many as the file of `declared` needs. */
const STEPS = 6

const declared = (client: string) => `
clients:
  - { name: ${client}, disabled: true, keys: [{ name: a }, { name: b }], limits: [{ kind: tokens, limit: 9, key: b }] }
alerts:
  - { url: 'http://127.0.0.1:9/hook', on: [budget], client: ${client} }
`

/** Runs `apply` or `diff`, which dies before the change of that number. */
async function run(name: string, document: string, diesBefore = Number.POSITIVE_INFINITY) {
  let changes = 0
  const mortal = OPERATIONS.map((operation) => ({
    ...operation,
    run: async (...given: Parameters<typeof operation.run>) => {
      if (operation.role !== 'read' && changes++ === diesBefore) throw new Error('killed')
      return await operation.run(...given)
    },
  }))
  const chosen = applyChapters(mortal)
    .flatMap(({ operations }) => operations)
    .find((one) => one.name === name)
  if (chosen === undefined) throw new Error(`no operation ${name}`)
  const ports = {
    pool,
    read: async <Result>(work: (pool: Postgres) => Promise<Result>) => await work(pool),
    now: Date.now,
    progress: () => NO_PROGRESS,
    remark() {},
    newKeyPepper: () => 'pepper',
    keyPeppers: ['pepper'],
    findReference: null,
  }
  const input = parseFields(chosen.input, { document })
  return Object(
    await runOperation(chosen, ports as never, input, { name: 'test', from: 'here', who: 'test' }),
  )
}

test.each(
  Array.from({ length: STEPS }, (_, index) => index),
)('a run that dies before its change %i leads to the same end when it is run again', async (index) => {
  const document = declared(`client-${index}`)
  // A receiver is removed only where the file says so, so each case has its own client and receiver.
  const before = await pool.query('select count(*) from tallygate.alert_receivers')
  await expect(run('apply', document, index)).rejects.toThrow('killed')
  expect((await run('diff', document)).changes.length).toBe(STEPS - index)
  await run('apply', document)
  expect((await run('diff', document)).changes).toEqual([])
  const { rows } = await pool.query(
    `select (select count(*) from tallygate.keys k where k.client_id = c.id) as keys, c.disabled,
       (select count(*) from tallygate.limits l where l.client_id = c.id) as limits
     from tallygate.clients c where name = $1`,
    [`client-${index}`],
  )
  expect(rows).toEqual([{ keys: '2', disabled: true, limits: '1' }])
  const after = await pool.query('select count(*) from tallygate.alert_receivers')
  expect(Number(after.rows[0].count)).toBe(Number(before.rows[0].count) + 1)
})
