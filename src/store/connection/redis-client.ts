import { Cluster, type RedisOptions, Redis as SingleRedis } from 'ioredis'
import { parseRedisUrl, type RedisAddress, type RedisHost } from '../../domain/redis/redis-url.ts'
import { answerInfoForAll, type Redis } from './redis-info.ts'
import { addressOf, SENTINEL_SETTINGS, SentinelWatch, type Watched } from './sentinel-watch.ts'

export interface RedisClientOptions {
  /** Shown in `CLIENT LIST`. */
  readonly name: string
  /**
   * `fail`: a command is refused at once while there is no connection, and fails when the connection breaks.
   * `wait`: commands wait for the connection without end, as BullMQ's workers need.
   * `once`: as `fail`, and neither the connection nor a command is ever tried again. `connect` makes it.
   */
  readonly whenAway: 'fail' | 'wait' | 'once'
  /** A connection attempt may take this long. */
  readonly connectMs: number
  /** A connection on which the server is silent for this long while a command waits is given up; `null`: none. */
  readonly silenceMs: number | null
}

const RECONNECT_MAX_MS = 1_000
/** A failover may be under way: the server that answers READONLY is left at most this often for the one named next. */
const LEAVE_REPLICA_EVERY_MS = 1_000
/** How often the nodes of a cluster are asked who owns which slot, beside what their answers say. */
const SLOTS_EVERY_MS = 10_000
const REDIRECT_MS = 100

/**
 * Builds the client for REDIS_URL, whatever form it has: the only place that does. Nothing is awaited, and it does not
 * throw because a server is away.
 *
 * @throws When the URL cannot work. The configuration has refused it before.
 */
export function buildRedis(url: string, options: RedisClientOptions): Redis {
  const { address, problems } = parseRedisUrl(url)
  if (address === null) throw new Error(`REDIS_URL ${problems.join('; it ')}`)
  return address.kind === 'cluster' ? buildCluster(address, options) : buildSingle(address, options)
}

type SingleAddress = Exclude<RedisAddress, { kind: 'cluster' }>

function buildSingle(address: SingleAddress, options: RedisClientOptions): SingleRedis {
  const once = options.whenAway === 'once'
  const watch = address.kind === 'sentinels' && !once ? watchFor(address, options) : null
  const watched: Watched = {
    at: null,
    // One that is still being made would end for good: it is checked again.
    reconnect: () => (redis.status === 'ready' ? redis.disconnect(true) : undefined),
  }
  const settings: RedisOptions & { replyMapping: 'legacy' } = {
    ...place(address, once),
    ...(watch === null ? {} : { natMap: (key) => master(watch, watched, key) }),
    ...shared(address, options),
    db: address.database,
    lazyConnect: once,
    disconnectTimeout: once ? 50 : 2_000,
    enableOfflineQueue: options.whenAway === 'wait',
    retryStrategy: once ? () => null : delayMs,
    reconnectOnError: once ? null : leavesReplica(),
    replyMapping: 'legacy',
  }
  const redis = new SingleRedis(settings)
  answerInfoForAll(redis)
  if (watch !== null) {
    watch.add(watched)
    masterChecks.set(redis, () => watch.check())
    redis.on('end', () => {
      if (watch.delete(watched)) watches.delete(watchKey(address))
    })
  }
  return redis
}

/** Watches of this process, by their Sentinels. */
const watches = new Map<string, SentinelWatch>()
const masterChecks = new WeakMap<Redis, () => Promise<void>>()

/**
 * Asks the Sentinels whether this is a connection to the master of the newest failover, and makes another one if not: a
 * command that follows fails then. Without Sentinels there is nothing to ask.
 */
export async function confirmMaster(redis: Redis): Promise<void> {
  await masterChecks.get(redis)?.()
}

type Sentinels = Extract<RedisAddress, { kind: 'sentinels' }>

function watchKey(address: SingleAddress): string {
  return JSON.stringify(address)
}

function watchFor(address: Sentinels, { connectMs }: RedisClientOptions): SentinelWatch {
  const key = watchKey(address)
  const known = watches.get(key)
  if (known !== undefined) return known
  const { sentinel, family, tls } = address
  const watch = new SentinelWatch(
    address,
    (host) =>
      new SingleRedis({
        ...host,
        ...SENTINEL_SETTINGS,
        connectTimeout: connectMs,
        ...(family === 0 ? {} : { family }),
        ...(sentinel.user === null ? {} : { username: sentinel.user }),
        ...(sentinel.password === null ? {} : { password: sentinel.password }),
        ...(tls ? { tls: {} } : {}),
      }),
  )
  watches.set(key, watch)
  return watch
}

/** The address to connect to, when a Sentinel has named `key`. */
function master(watch: SentinelWatch, watched: Watched, key: string) {
  const instead = watch.insteadOf(key)
  watched.at = instead === null ? key : addressOf(instead)
  return instead
}

function place(address: SingleAddress, once: boolean): RedisOptions {
  switch (address.kind) {
    case 'server':
      return { ...first(address.hosts), ...(address.tls ? { tls: {} } : {}) }
    case 'socket':
      return { path: address.path }
    case 'sentinels':
      return {
        sentinels: [...address.hosts],
        name: address.master,
        role: 'master',
        sentinelRetryStrategy: once ? () => null : delayMs,
        ...(address.sentinel.user === null ? {} : { sentinelUsername: address.sentinel.user }),
        ...(address.sentinel.password === null ? {} : { sentinelPassword: address.sentinel.password }),
        ...(address.tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
      }
    default:
      return address satisfies never
  }
}

function buildCluster(
  address: Extract<RedisAddress, { kind: 'cluster' }>,
  options: RedisClientOptions,
): Cluster {
  const once = options.whenAway === 'once'
  const cluster = new Cluster([...address.hosts], {
    lazyConnect: once,
    // A node is connected to at its first command: those that follow meanwhile have to wait. `once` has no other
    // waiting, as it is used only while the cluster is there; `fail` tries such a command again.
    enableOfflineQueue: options.whenAway !== 'fail',
    clusterRetryStrategy: once ? () => null : delayMs,
    retryDelayOnFailover: once ? 0 : REDIRECT_MS,
    retryDelayOnClusterDown: once ? 0 : REDIRECT_MS,
    slotsRefreshTimeout: options.connectMs,
    slotsRefreshInterval: SLOTS_EVERY_MS,
    // A name stays a name: certificates are made out to it.
    dnsLookup: (name, callback) => callback(null, name),
    redisOptions: {
      ...shared(address, options),
      ...(address.tls ? { tls: {} } : {}),
      enableReadyCheck: false, // CLUSTER INFO is asked instead
    },
  })
  answerInfoForAll(cluster)
  return cluster
}

/** The options that connections to a single server and to each node of a cluster have in common. */
function shared(address: RedisAddress, options: RedisClientOptions) {
  const waits = options.whenAway === 'wait'
  return {
    ...(address.user === null ? {} : { username: address.user }),
    ...(address.password === null ? {} : { password: address.password }),
    ...(address.family === 0 ? {} : { family: address.family }),
    connectionName: options.name.replaceAll(' ', '-'), // Redis refuses a name with spaces
    disableClientInfo: true, // one right less to give
    connectTimeout: options.connectMs,
    ...(options.silenceMs === null ? {} : { socketTimeout: options.silenceMs }),
    maxRetriesPerRequest: waits ? null : 0,
    autoResendUnfulfilledCommands: waits,
    // The library does not handle failures of its own SUBSCRIBE: a connection that breaks before the answer would be an
    // unhandled rejection, which ends the process. Subscribers subscribe at every `ready` themselves.
    autoResubscribe: false,
  }
}

function first(hosts: readonly RedisHost[]): RedisHost {
  const [host] = hosts
  if (host === undefined) throw new Error('REDIS_URL names no host')
  return host
}

const delayMs = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 5), RECONNECT_MAX_MS)

/** Tells whether an answer says that this server is a replica now, so that the master is looked for again. */
function leavesReplica(): (error: Error) => boolean {
  let leftAtMs = Number.NEGATIVE_INFINITY
  return (error) => {
    if (!error.message.startsWith('READONLY')) return false
    const nowMs = performance.now()
    if (nowMs - leftAtMs < LEAVE_REPLICA_EVERY_MS) return false
    leftAtMs = nowMs
    return true
  }
}
