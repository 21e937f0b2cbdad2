import type { Cluster, Redis as SingleRedis } from 'ioredis'

/** A connection to one server, by Sentinels or directly, or to the masters of a cluster. */
export type Redis = SingleRedis | Cluster

/** BullMQ puts a proxy around the connection, which may not replace a property that is fixed. */
const REPLACEABLE = { configurable: true, writable: true }

/**
 * Makes INFO answer a user who lacks the right to it, by what HELLO says to everybody: product, version and role. The
 * client library and BullMQ ask INFO before all else, and would not go on without it. The same holds for duplicates of
 * the connection, which BullMQ makes.
 */
export function answerInfoForAll(redis: Redis): void {
  const info: (...sections: string[]) => Promise<string> = redis.info.bind(redis)
  const hello = () => redis.call('HELLO')
  async function answer(...sections: string[]): Promise<string> {
    try {
      return await info(...sections)
    } catch (error) {
      if (!isRefusedByAcl(error)) throw error
      return infoFrom(await hello())
    }
  }
  Object.defineProperty(redis, 'info', {
    ...REPLACEABLE,
    /** As a library calls it: sections, then a callback or none. */
    value: (...args: unknown[]) => {
      const callback = args.at(-1)
      const sections = args.filter((arg) => typeof arg === 'string')
      const answered = answer(...sections)
      if (isCallback(callback)) {
        answered.then(
          (text) => callback(null, text),
          (error: unknown) => callback(error),
        )
      }
      return answered
    },
  })
  const { duplicate } = redis
  Object.defineProperty(redis, 'duplicate', {
    ...REPLACEABLE,
    value: (...args: unknown[]) => {
      const copy: Redis = Reflect.apply(duplicate as (...args: unknown[]) => Redis, redis, args)
      answerInfoForAll(copy)
      return copy
    },
  })
}

/** Tells whether Redis refused a command because of the user's rights. */
export function isRefusedByAcl(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOPERM')
}

/** The answer to HELLO, as lines of INFO. */
function infoFrom(reply: unknown): string {
  if (!Array.isArray(reply)) return ''
  const fields = new Map<string, string>()
  for (let index = 0; index + 1 < reply.length; index += 2)
    fields.set(String(reply[index]), `${reply[index + 1]}`)
  const role = fields.get('role') === 'replica' ? 'slave' : fields.get('role')
  const version = fields.get('version')
  return [
    `redis_version:${version ?? ''}`,
    ...(fields.get('server') === 'valkey' ? [`valkey_version:${version ?? ''}`] : []),
    `redis_mode:${fields.get('mode') ?? ''}`,
    `role:${role ?? ''}`,
    '',
  ].join('\r\n')
}

function isCallback(value: unknown): value is (error: unknown, text?: string) => void {
  return typeof value === 'function'
}
