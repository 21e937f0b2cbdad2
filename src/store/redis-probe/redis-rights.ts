import { keyChannel } from '../../domain/redis/redis-names.ts'
import type { Redis } from '../connection/redis.ts'

/** Why commands were refused, and which: `NOPERM`, `READONLY`, `OOM`, `MISCONF`. */
export type Refusals = ReadonlyMap<string, readonly string[]>

const REFUSALS = /^(NOPERM|READONLY|OOM|MISCONF)\b/

/**
 * Tries the commands on keys of its own, which it deletes again. `ACL DRYRUN` would need the rights of an
 * administrator, and `redis.acl_check_cmd` ends Redis 7.0 with some arguments.
 *
 * @throws When Redis does not answer.
 */
export async function tryCommands(redis: Redis, redisPrefix: string): Promise<Refusals> {
  const refused = new Map<string, string[]>()
  const outcomes = await Promise.all(
    trials(redisPrefix).map(async ([command, ...args]) => {
      try {
        await redis.call(command, args)
        return null
      } catch (error) {
        const [reason] = (error instanceof Error && REFUSALS.exec(error.message)) || []
        // Any other answer of Redis is to a command that it would carry out.
        if (reason === undefined && !isReply(error)) throw error
        return reason === undefined ? null : { reason, command: command.toUpperCase() }
      }
    }),
  )
  for (const outcome of outcomes) {
    if (outcome === null) continue
    refused.set(outcome.reason, [...(refused.get(outcome.reason) ?? []), outcome.command])
  }
  return refused
}

type Trial = readonly [string, ...string[]]

function trials(redisPrefix: string): readonly Trial[] {
  const key = (type: string) => `${redisPrefix}probe:${type}`
  const [text, hash, list, set, sorted, stream] = ['text', 'hash', 'list', 'set', 'sorted', 'stream'].map(key)
  const of = (name = '', ...commands: readonly (readonly [string, ...string[]])[]): readonly Trial[] =>
    commands.map(([command, ...args]) => [command, name, ...args])
  return [
    ['time'],
    ['eval', 'return 1', '0'],
    ['evalsha', '0'.repeat(40), '0'],
    ['publish', keyChannel(redisPrefix), 'changed'],
    ...of(
      text,
      ['set', '1'],
      ['get'],
      ['incr'],
      ['exists'],
      ['pexpire', '1000'],
      ['pttl'],
      ['persist'],
      ['del'],
    ),
    ...of(hash, ['hset', 'a', '1'], ['hmset', 'a', '1'], ['hget', 'a'], ['hmget', 'a'], ['hexists', 'a']),
    ...of(hash, ['hgetall'], ['hincrby', 'a', '1'], ['hdel', 'a'], ['del']),
    ...of(
      list,
      ['lpush', 'a'],
      ['llen'],
      ['lpos', 'a'],
      ['lrange', '0', '-1'],
      ['ltrim', '0', '1'],
      ['lrem', '1', 'a'],
    ),
    ...of(list, ['rpoplpush', list ?? ''], ['del']),
    ...of(set, ['sadd', 'a'], ['scard'], ['smembers'], ['srem', 'a'], ['del']),
    ...of(sorted, ['zadd', '1', 'a'], ['zcard'], ['zscore', 'a'], ['zrange', '0', '-1'], ['zrem', 'a']),
    ...of(sorted, ['zrevrange', '0', '-1'], ['zrangebyscore', '0', '1'], ['zrevrangebyscore', '1', '0']),
    ...of(sorted, ['zremrangebyrank', '9', '9'], ['zremrangebyscore', '9', '9'], ['zpopmin']),
    ...of(sorted, ['zadd', '1', 'a'], ['bzpopmin', '0.01'], ['del']),
    ...of(
      stream,
      ['xadd', '*', 'a', '1'],
      ['xlen'],
      ['xrange', '-', '+'],
      ['xdel', '0-1'],
      ['xtrim', 'MAXLEN', '0'],
    ),
    ['xread', 'COUNT', '1', 'STREAMS', stream ?? '', '0-0'],
    ...of(stream, ['del']),
  ]
}

/** Tells whether Redis answered, with an error. */
function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError'
}
