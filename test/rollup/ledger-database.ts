import { addCallDays, createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import type { RollUp } from '../../src/rollup/rolled-up.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { TEST_TIMEOUT_MS } from '../support/patience.ts'
import { createTestDatabase, RETENTION_DAYS, type TestDatabase } from '../support/servers/database.ts'
import { quiet } from './records.ts'

/** For `summarise`: a test sums up all there is, however slow the machine. */
export const NO_LIMIT_MS = Number.POSITIVE_INFINITY

/** A migrated database with partitions, and a roll-up that works on it. */
export interface LedgerDatabase {
  readonly url: string
  readonly pool: Postgres
  readonly rollUp: RollUp
  /** Requests and pico-USD in the totals, rows in `calls`, dead letters, and sums of sequences in gaps. */
  counts(): Promise<{
    requests: number
    inputTokens: number
    costPico: bigint
    calls: number
    deadLetters: number
    missing: number
  }>
  committedOffset(producer: string): Promise<number>
  drop(): Promise<void>
}

export async function openLedgerDatabase(
  retentionDays = RETENTION_DAYS,
  made?: TestDatabase,
): Promise<LedgerDatabase> {
  const database = made ?? (await createTestDatabase())
  const pool = openPostgres(database.url, {
    max: 8,
    statementTimeoutMs: TEST_TIMEOUT_MS, // a busy machine is slow, not wrong
    applicationName: 'test roll-up',
    log: quiet,
  })
  await addCallDays(pool, retentionDays)
  return {
    url: database.url,
    pool,
    rollUp: createRollUp({ pool, callDays: createCallDays(pool, retentionDays, quiet) }),
    async counts() {
      const { rows } = await pool.query(
        `select coalesce(sum(requests), 0) as requests, coalesce(sum(input_tokens), 0) as input_tokens,
           coalesce(sum(cost_pico), 0) as cost_pico, (select count(*) from tallygate.calls) as calls,
           (select count(*) from tallygate.dead_letters) as dead_letters,
           (select coalesce(sum(to_seq - from_seq + 1), 0) from tallygate.ledger_gaps where filled_at is null)
             as missing
         from tallygate.daily_usage`,
      )
      const [row] = rows
      return {
        requests: Number(row.requests),
        inputTokens: Number(row.input_tokens),
        costPico: BigInt(row.cost_pico),
        calls: Number(row.calls),
        deadLetters: Number(row.dead_letters),
        missing: Number(row.missing),
      }
    },
    async committedOffset(producer) {
      const { rows } = await pool.query('select mark from tallygate.producers where id = $1', [producer])
      return Number(rows[0]?.mark ?? 0)
    },
    async drop() {
      await pool.end()
      await database.drop()
    },
  }
}
