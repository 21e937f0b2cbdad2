import { randomBytes } from 'node:crypto'
import { encodeEntry, serialiseRecord } from '../../src/ledger/entry.ts'
import { shardOf } from '../../src/ledger/own-producers.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Redis } from '../../src/store/connection/redis.ts'
import { SCHEMA } from '../../src/store/connection/schema.ts'
import { registerStream } from '../../src/store/ledger/ledger-database.ts'
import { clientIdOf, recordOf } from './records.ts'

/** What the totals must be when all entries were counted. */
export interface Expected {
  readonly requests: number
  readonly inputTokens: number
  readonly costPico: bigint
}

const PRODUCERS_A_STREAM = 2
const AT_A_TIME = 500

/** Fills the streams with entries as gateways write them: each client in its shard, two producers a stream. */
export async function fillStreams(
  redis: Redis,
  pool: Postgres,
  streams: readonly string[],
  { entries, clients }: { readonly entries: number; readonly clients: number },
): Promise<Expected> {
  await pool.query(
    `insert into ${SCHEMA}.clients (id, name, version) select id, 'client ' || id, 0 from unnest($1::text[]) id`,
    [Array.from({ length: clients }, (_, client) => clientIdOf(client))],
  )
  const producers = streams.map((stream) => ({
    stream,
    next: 0,
    numbered: Array.from({ length: PRODUCERS_A_STREAM }, () => ({
      id: randomBytes(16).toString('hex'),
      last: 0,
    })),
  }))
  for (const stream of streams) await registerStream(pool, stream)
  const expected = { requests: entries, inputTokens: 0, costPico: 0n }
  for (let from = 0; from < entries; from += AT_A_TIME) {
    const pipeline = redis.pipeline()
    for (let call = from; call < Math.min(entries, from + AT_A_TIME); call += 1) {
      const record = recordOf(call, clients)
      const shard = producers[shardOf(record.clientId, streams.length)]
      const producer = shard?.numbered[shard.next++ % PRODUCERS_A_STREAM]
      if (shard === undefined || producer === undefined) throw new Error('a client has no shard')
      producer.last += 1
      pipeline.xadd(shard.stream, '*', ...encodeEntry(producer.id, producer.last, serialiseRecord(record)))
      expected.inputTokens += record.usage.inputTokens ?? 0
      expected.costPico += BigInt(record.costPico ?? 0)
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
  }
  return expected
}
