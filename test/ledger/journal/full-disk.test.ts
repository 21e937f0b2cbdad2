import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { testSite } from '../support/ledgers.ts'

const GATEWAY = fileURLToPath(new URL('../support/full-disk-gateway.ts', import.meta.url))
/** In blocks of 512 or 1,024 bytes, as shells differ: room for the reserve, and not for the WAL at its longest. */
const FILE_LIMIT = 16_000

interface Outcome {
  readonly running: number
  readonly taken: number
  readonly cut: number
  readonly takenAgain: boolean
  readonly recorded: readonly number[]
}

test('a disk that takes no more refuses new calls, records every running one, and recovers by itself', async () => {
  const site = testSite()
  const command = `ulimit -f ${FILE_LIMIT}; exec "$0" "$@"`
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    command,
    process.execPath,
    GATEWAY,
    site.journalDir,
    site.stream,
  ])
  const outcome: Outcome = JSON.parse(stdout)
  expect(outcome).toMatchObject({ running: 300, cut: 0, takenAgain: true })
  expect(outcome.taken).toBeGreaterThan(100)
  await site.ledger()
  await site.expectCounted(outcome.recorded)
})
