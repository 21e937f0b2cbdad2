import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyIn, copyOut } from '../../src/store/connection/copy-rows.ts'
import { withSession } from '../../src/store/connection/long-session.ts'
import { quiet } from '../rollup/records.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/servers/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createEmptyDatabase()
})
afterAll(() => database.drop())

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

test('copies leave no timer behind, which would keep a command from its end for a day', async () => {
  const before = timers()
  await withSession(database.url, { applicationName: 'test', log: quiet }, async (session) => {
    await session.query('create table t (a int)')
    for (let round = 0; round < 10; round += 1) {
      const into = copyIn(session, 'copy t from stdin')
      into.end('1\n2\n')
      await finished(into)
    }
    expect((await buffer(copyOut(session, 'copy t to stdout'))).toString()).toBe('1\n2\n'.repeat(10))
    for (let round = 0; round < 10; round += 1) await buffer(copyOut(session, 'copy t to stdout'))
  })
  await expect.poll(timers).toBeLessThan(before + 10)
})
