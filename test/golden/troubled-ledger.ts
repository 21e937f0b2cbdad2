import { NO_USAGE } from '../../src/call/usage.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { putPriceDoubts } from '../../src/pricing/refresh/price-doubts.ts'
import { recordPriceRefresh } from '../../src/pricing/refresh/price-refreshes.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { recordGatewayJournal } from '../../src/store/ledger/gateway-journals.ts'
import { NOTHING_REPORTED } from '../../src/store/processes/process-report.ts'
import { announceProcess } from '../../src/store/processes/processes-table.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord } from '../rollup/records.ts'

const MIB = 1_048_576
export const PRODUCER = '0123456789abcdef0123456789abcdef'

/** A call of this ledger. */
export const CALL = '01890000-0000-7000-8000-000000000001'

/**
 * A small ledger, always the same: four calls of one client, and one of everything that goes wrong. Its names for
 * `settled`.
 */
export async function openTroubledLedger(
  prefix: string,
  redis: Redis,
): Promise<LedgerDatabase & { readonly names: Readonly<Record<string, string>> }> {
  const ledger = await openLedgerDatabase()
  const { pool } = ledger
  const noon = Date.parse(`${utcDayOf(Date.now())}T12:00:00Z`)
  const at = (minute: number) => noon - minute * 60_000
  const silent = { usageSource: 'none', usage: NO_USAGE } as const
  const unpriced = { costPico: null, priceId: null } as const
  const id = (n: number) => `01890000-0000-7000-8000-00000000000${n}`
  await ledger.rollUp(`${prefix}calls`, [
    aCandidate(
      PRODUCER,
      1,
      aRecord({ callId: CALL, arrivedAtMs: at(4), responseId: 'chatcmpl-1', costPico: '850000000000' }),
    ),
    aCandidate(
      PRODUCER,
      2,
      aRecord({ callId: id(2), arrivedAtMs: at(3), costPico: '1500000000001', suspect: true }),
    ),
    aCandidate(
      PRODUCER,
      3,
      aRecord({ callId: id(3), arrivedAtMs: at(2), ...unpriced, unpricedReason: 'no_price', model: 'gpt-x' }),
    ),
    aCandidate(
      PRODUCER,
      4,
      aRecord({
        callId: id(4),
        arrivedAtMs: at(1),
        ...unpriced,
        ...silent,
        unpricedReason: 'no_reader',
        path: '/v1/odd',
      }),
    ),
  ])
  await pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason) values ('p1', 4, 6, 'producer_lost')`,
  )
  await pool.query(
    `insert into tallygate.dead_letters (producer, sequence, stream, body, message) values ($2, 9, $1, '{}', 'no')`,
    [`${prefix}calls`, PRODUCER],
  )
  await pool.query('insert into tallygate.streams (name) values ($1) on conflict do nothing', [
    `${prefix}calls`,
  ])
  await redis.xadd(`${prefix}calls`, '1-0', 'p', 'x')
  await recordGatewayJournal(pool, 'host:1', {
    uncommittedRecords: 3,
    uncommittedBytes: 6 * MIB,
    maxBytes: 10 * MIB,
    oldestUncommittedMs: 30_000,
  })
  await pool.query(
    `insert into tallygate.billing_receivers (name, kind, holder, held_until, problem)
     values ('stripe', 'stripe', 'host:1', now() + interval '1 day', 'it answered 401')`,
  )
  // A month to come is one of the last, whatever day it is.
  await pool.query(
    `insert into tallygate.invoice_matches
       (biller, month, imports, ours_pico, invoiced_pico, unexplained_pico)
     values ('openai', '2099-12', '{inv_1}', 41207130000000000, 41807190000000000, 600000000000000)`,
  )
  await pool.query(
    `with tried as (
       insert into tallygate.tried_limits (kind, amount, counts_cached, allows_unpriced, when_alone, from_day)
       values ('requests', 60, true, false, 'refuse', $1) returning id)
     insert into tallygate.tried_limit_days
     select id, $1, 4, 1, 850000000000, $2, $2, $2 from tried`,
    [utcDayOf(noon), new Date(at(3))],
  )
  const own = { ...NOTHING_REPORTED, host: 'host', startedAtMs: at(60), version: '1.0.0' }
  await announceProcess(pool, {
    process: 'host:1',
    kind: 'gateway',
    maxConnections: 8,
    clockOffsetMs: 90_000,
    report: {
      ...own,
      shards: [],
      steadyMs: 60_000,
      diskBytes: 100 * MIB,
      diskFreeBytes: 5 * MIB,
      certificateEndsAtMs: noon + 2 * 86_400_000,
      upstreams: [
        {
          upstream: 'openai',
          calls: 4,
          failures: { credential_refused: 4 },
          failedInARow: 4,
          servedInARow: 0,
          causeInARow: 'credential_refused',
          refusesCredential: true,
          failedClient: null,
          othersServed: false,
          circuit: 'closed' as const,
        },
      ],
    },
  })
  await announceProcess(pool, {
    process: 'other:2',
    kind: 'worker',
    maxConnections: 10,
    clockOffsetMs: 0,
    report: { ...own, host: 'other', shards: [], upstreams: [] },
  })
  // The first one still runs, however long a busy machine takes to show the rest.
  await pool.query(`update tallygate.processes set
    at = now() + case process when 'other:2' then interval '-20 s' else interval '10 minutes' end`)
  const url = 'https://prices.example/data.json'
  const refused = { outcome: 'refused', problem: 'it lists 3 of 1481 models', url, etag: null } as const
  await recordPriceRefresh(pool, 'genai-prices', { ...refused, outcome: 'unchanged', problem: null })
  await recordPriceRefresh(pool, 'genai-prices', refused)
  await recordPriceRefresh(pool, 'litellm', { ...refused, outcome: 'unchanged', problem: null })
  const doubt = { provider: 'openai', model: 'gpt-4o', why: 'input_mtok from $2.5 to $250', offered: null }
  await putPriceDoubts(pool, 'genai-prices', [doubt], url)
  return { ...ledger, names: { [prefix]: '<prefix>', [PRODUCER]: '<producer>' } }
}
