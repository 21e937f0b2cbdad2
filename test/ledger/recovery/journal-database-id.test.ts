import { expect, test } from 'vitest'
import { DatabaseBinding, readJournalDatabaseId } from '../../../src/ledger/recovery/journal-database-id.ts'
import { testFolder } from '../support/folders.ts'
import { logLines } from '../support/log-lines.ts'

test('a journal that is adopted while Postgres is asked is bound to the database that answers', async () => {
  const [own, adopted] = [testFolder(), testFolder()]
  const folders = [own]
  const { promise, resolve } = Promise.withResolvers<string>()
  const log = logLines()
  const binding = new DatabaseBinding({ readDatabaseId: () => promise }, () => {}, log)
  const bound = binding.bind(() => folders)
  folders.push(adopted)
  resolve('7.5')
  expect(await bound).toBe('7.5')
  expect(await readJournalDatabaseId(own)).toBe('7.5')
  expect(await readJournalDatabaseId(adopted)).toBe('7.5')
  expect(log.lines).toEqual([])
})

test('another database in its place is logged, and gets the journals', async () => {
  const folder = testFolder()
  const ids = ['1.5', '2.5']
  const log = logLines()
  const answered: string[] = []
  const binding = new DatabaseBinding(
    { readDatabaseId: async () => ids.shift() ?? null },
    (id) => answered.push(id),
    log,
  )
  await binding.bind(() => [folder])
  expect(await binding.bind(() => [folder])).toBe('2.5')
  expect(await readJournalDatabaseId(folder)).toBe('2.5')
  expect(log.lines).toMatchObject([
    { level: 'error', event: 'ledger.database_changed', fields: { before: '1.5', database: '2.5' } },
  ])
  expect(await binding.bind(() => [folder])).toBe('2.5')
  expect(answered).toEqual(['1.5', '2.5'])
})
