import type { Redis } from './redis.ts'

/** Version and settings of a Redis, for `doctor`. */
export interface RedisState {
  /** `Redis` or `Valkey`. */
  readonly product: string
  /** `7.2.4`. */
  readonly version: string
  /** The Redis release whose commands it supports. */
  readonly redisVersion: string
  /** It writes every command to disk; `null`: this user is not shown it. */
  readonly appendOnly: boolean | null
  /** Its policy when memory is full; `null`: this user is not shown it. */
  readonly evictionPolicy: string | null
}

/** The figures that Redis gives of its memory. */
export interface RedisMemory {
  readonly usedBytes: number
  /** `null`: it may take all that its host has. */
  readonly maxBytes: number | null
}

export async function readRedisState(redis: Redis): Promise<RedisState> {
  const fields = fieldsOf(await redis.info())
  const redisVersion = fields.get('redis_version') ?? ''
  const valkeyVersion = fields.get('valkey_version')
  return {
    product: valkeyVersion === undefined ? 'Redis' : 'Valkey',
    version: valkeyVersion ?? redisVersion,
    redisVersion,
    appendOnly: fields.has('aof_enabled') ? fields.get('aof_enabled') === '1' : null,
    evictionPolicy: fields.get('maxmemory_policy') ?? null,
  }
}

/** `null`: this user is not shown it. Of a cluster it is that of one node. */
export async function readRedisMemory(redis: Redis): Promise<RedisMemory | null> {
  const fields = fieldsOf(await redis.info('memory'))
  const [used, most] = ['used_memory', 'maxmemory'].map((name) => Number(fields.get(name) ?? Number.NaN))
  if (used === undefined || most === undefined || Number.isNaN(used + most)) return null
  return { usedBytes: used, maxBytes: most === 0 ? null : most }
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)]] : []
    }),
  )
}

/** The records that wait on a stream to be rolled up. */
export interface StreamBacklog {
  readonly entries: number
  /** Age of the oldest entry, in ms, by Redis's clock; 0: the stream is empty. */
  readonly oldestMs: number
}

export async function readStreamBacklog(redis: Redis, stream: string): Promise<StreamBacklog> {
  const [entries, [first], [seconds]] = await Promise.all([
    redis.xlen(stream),
    redis.xrange(stream, '-', '+', 'COUNT', 1),
    redis.time(),
  ])
  if (first === undefined) return { entries, oldestMs: 0 }
  const appendedAtMs = Number(first[0].split('-')[0])
  return { entries, oldestMs: Math.max(0, Number(seconds) * 1000 - appendedAtMs) }
}
