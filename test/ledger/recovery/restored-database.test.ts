import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { selectRequestProof } from '../../../src/corrections/verify-part.ts'
import { offsetsName } from '../../../src/domain/redis/redis-names.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/running-ledger.ts'
import { createDrain } from '../../../src/rollup/drain/drain.ts'
import { createGapCheck } from '../../../src/rollup/drain/gap-check.ts'
import { buildLedgerDatabase } from '../../../src/store/ledger/ledger-database.ts'
import { selectLedgerStatus } from '../../../src/store/ledger/ledger-status.ts'
import { openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { testRedisPrefix } from '../../support/servers/redis.ts'
import { interruptedRecord } from '../support/calls.ts'
import { testFolder } from '../support/folders.ts'
import { makeCalls } from '../support/ledgers.ts'
import { logLines } from '../support/log-lines.ts'

const SOON = { interval: 20 }
/** What every table of the ledger was when the backup was made: empty. */
const RESTORE = `truncate tallygate.producers, tallygate.ledger_gaps, tallygate.daily_usage, tallygate.call_rows,
  tallygate.responses_seen, tallygate.streams`

test('a backup from before a gateway that came and went records its calls as a gap, once, and the books agree', async () => {
  const journalDir = testFolder()
  const database = await openLedgerDatabase(1)
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const redis = new Redis(redisUrl)
  const { pool, rollUp } = database
  const stream = `${prefix}calls`
  const drain = createDrain({
    rollUp,
    gapCheck: createGapCheck(),
    offsetsKey: (of) => offsetsName(prefix, of),
    blockMs: 20,
  })
  const drainOnce = () => drain(stream, redis, new AbortController().signal)
  const ledgers: Ledger[] = []
  onTestFinished(async () => {
    await Promise.all(ledgers.map((ledger) => ledger.stop(0)))
    redis.disconnect()
    await drop()
    await database.drop()
  })
  const start = async (): Promise<Ledger> => {
    const ledger = await openLedger({
      journalDir,
      journalMaxBytes: 64 * 1024 * 1024,
      keepSeconds: 0.5,
      redisUrl,
      redisPrefix: prefix,
      streams: [stream],
      database: buildLedgerDatabase(pool),
      buildInterrupted: interruptedRecord,
      log: logLines(),
    })
    ledgers.push(ledger)
    return ledger
  }

  const first = await start()
  const producer = first.producerOf('client-1')
  await makeCalls(first, 1, 8)
  await vi.waitFor(async () => {
    await drainOnce()
    expect(first.stats().pruned).toBe(8)
  }, SOON)
  ledgers.pop()
  await first.stop(1_000)
  expect(existsSync(join(journalDir, producer))).toBe(false)

  await pool.query(RESTORE)
  await Promise.all([start(), start()])
  const named = [{ producer, from: 1, to: 8, reason: 'journal_pruned' }]
  await vi.waitFor(async () => {
    await drainOnce()
    expect((await selectLedgerStatus(pool)).gaps).toMatchObject(named)
  }, SOON)
  await vi.waitFor(async () => {
    await drainOnce()
    expect(await redis.xlen(stream)).toBe(0)
  }, SOON)
  expect((await selectLedgerStatus(pool)).gaps).toHaveLength(1)
  expect((await selectLedgerStatus(pool)).streams).toEqual([stream])
  expect(await selectRequestProof(pool)).toEqual({ counted: 0n, totals: 0n })
})
