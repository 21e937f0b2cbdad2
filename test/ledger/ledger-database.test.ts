import { afterEach, expect, test, vi } from 'vitest'
import { type LedgerDatabase, withDeadlines } from '../../src/ledger/ledger-database.ts'

const silent = () => new Promise<never>(() => {})
const SILENT: LedgerDatabase = {
  readCommittedOffsets: silent,
  readGaps: silent,
  readDatabaseId: silent,
  registerStream: silent,
}

afterEach(() => {
  vi.useRealTimers()
})

/** Every query of the port. */
function queries(database: LedgerDatabase): Promise<unknown>[] {
  return [
    database.readCommittedOffsets(['a']),
    database.readGaps('a'),
    database.readDatabaseId(),
    database.registerStream('calls'),
  ]
}

test('a Postgres that is silent for five seconds counts as unreachable, whatever it is asked', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const asked = queries(withDeadlines(SILENT, new AbortController().signal))
  const refused = asked.map((answer) => expect(answer).rejects.toThrow('no answer in 5000 ms'))
  await vi.advanceTimersByTimeAsync(5_000)
  await Promise.all(refused)
})

test('a ledger that stops waits for no answer', async () => {
  const stop = new AbortController()
  const asked = queries(withDeadlines(SILENT, stop.signal))
  stop.abort(new Error('the gateway ends'))
  for (const answer of asked) await expect(answer).rejects.toThrow('the gateway ends')
})
