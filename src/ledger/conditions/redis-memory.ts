import { type Finding, failure, ok, warning } from '../../domain/conditions/finding.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import { type RedisMemory, readRedisMemory } from '../../store/connection/redis-state.ts'
import { selectGatewayJournals } from '../../store/ledger/gateway-journals.ts'
import { selectStreams } from '../../store/ledger/ledger-database.ts'
import { BATCH_ROWS } from '../shipping/shipper.ts'
import { CROWDED_ENTRIES, ENTRY_BYTES, mostStreamBytes } from '../shipping/stream/stream-register.ts'

/** Beside what the streams take: limits, the job queue, connections, copies on write. */
const WITH_THE_REST = 2

/**
 * Compares `maxmemory` with what the streams may take while nothing is counted: docs/scaling.md has the formula.
 *
 * @param processes of gateways that run.
 */
export function checkMemory(memory: RedisMemory, streams: number, processes: number): Finding {
  const { usedBytes, maxBytes } = memory
  const most = mostStreamBytes(streams, processes, BATCH_ROWS)
  const needs = `${streams} streams of ${processes} gateway processes take ${inMb(most)} of it at most`
  if (maxBytes === null) return ok('redis memory', `${inMb(usedBytes)} are used, without a limit; ${needs}`)
  const detail = `${inMb(usedBytes)} of ${inMb(maxBytes)} are used; ${needs}`
  const underWay = most - streams * CROWDED_ENTRIES * ENTRY_BYTES
  if (maxBytes < underWay * WITH_THE_REST)
    return failure(
      'redis memory',
      detail,
      `set maxmemory to ${inMb(most * WITH_THE_REST)}, or lower STREAM_SHARDS: the streams may fill it`,
    )
  if (maxBytes < most * WITH_THE_REST)
    return warning(
      'redis memory',
      detail,
      `set maxmemory to ${inMb(most * WITH_THE_REST)}: with less, more of a backlog waits in the journals`,
    )
  return ok('redis memory', detail)
}

function inMb(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576)} MiB`
}

export const REDIS_MEMORY: Condition = {
  name: 'redis memory',
  place: 'redis',
  severity: 'wrong',
  async find({ pool, redis }) {
    const memory = await readRedisMemory(await redis())
    if (memory === null) return [] // this user is not shown it
    const streams = await selectStreams(pool).catch(() => [''])
    const gateways = await selectGatewayJournals(pool).catch(() => [])
    return checkMemory(memory, streams.length, gateways.length)
  },
}
