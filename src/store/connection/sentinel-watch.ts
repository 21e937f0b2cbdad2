import type { Redis as SingleRedis } from 'ioredis'
import type { RedisAddress, RedisHost } from '../../domain/redis/redis-url.ts'
import { withinDeadline } from '../../lib/deadline.ts'

const ASK_EVERY_MS = 1_000
/** A Sentinel that is slower says nothing this time. */
const ANSWER_MS = 500
const RETRY_MS = 1_000

type Sentinels = Pick<Extract<RedisAddress, { kind: 'sentinels' }>, 'hosts' | 'master'>
/** A connection to one of them. */
type Sentinel = Pick<SingleRedis, 'call' | 'disconnect'> & {
  on(event: 'error', listener: () => void): unknown
}

interface Named {
  readonly host: string
  readonly port: number
  /** Rises with each failover. */
  readonly epoch: number
}

/** A connection to the master that a Sentinel named. */
export interface Watched {
  /** `host:port` as it was named; `null`: not yet. */
  at: string | null
  /** Does nothing where it is not made yet. */
  reconnect(): void
}

/**
 * The master by the newest failover that any Sentinel knows of. A Sentinel hears of it up to two seconds after the
 * others, and a master that comes back empty is made a replica some ten seconds later. Until then each has clients that
 * write to it, and what those are granted is seen by no client of the other.
 */
export class SentinelWatch {
  readonly #sentinels: readonly Sentinel[]
  readonly #master: string
  readonly #watched = new Set<Watched>()
  #newest: Named | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(address: Sentinels, ask: (host: RedisHost) => Sentinel) {
    this.#master = address.master
    this.#sentinels = address.hosts.map(ask)
    for (const sentinel of this.#sentinels) sentinel.on('error', () => {}) // it says nothing, and others may
  }

  /** The master, where it is another one than `host:port`; `null`: it is that one, or no Sentinel has said anything. */
  insteadOf(key: string): { host: string; port: number } | null {
    const newest = this.#newest
    return newest === null || addressOf(newest) === key ? null : newest
  }

  add(watched: Watched): void {
    this.#watched.add(watched)
    this.#timer ??= setInterval(() => void this.check(), ASK_EVERY_MS).unref()
  }

  /** The last one that is taken away ends the connections to the Sentinels. */
  delete(watched: Watched): boolean {
    this.#watched.delete(watched)
    if (this.#watched.size > 0) return false
    if (this.#timer !== null) clearInterval(this.#timer)
    for (const sentinel of this.#sentinels) sentinel.disconnect()
    return true
  }

  /** Asks all Sentinels; connections to another server than the master are made again. */
  async check(): Promise<void> {
    const named = await Promise.all(this.#sentinels.map((sentinel) => this.#ask(sentinel)))
    for (const one of named) {
      if (one !== null && one.epoch >= (this.#newest?.epoch ?? 0)) this.#newest = one
    }
    // Sentinels that were set up again count from the beginning. What all of them name is the master.
    const [first = null, ...others] = named
    if (first !== null && others.every((one) => one !== null && addressOf(one) === addressOf(first)))
      this.#newest = first
    for (const watched of this.#watched)
      if (watched.at !== null && this.insteadOf(watched.at) !== null) watched.reconnect()
  }

  async #ask(sentinel: Sentinel): Promise<Named | null> {
    try {
      const said: unknown = await withinDeadline(sentinel.call('SENTINEL', 'MASTER', this.#master), ANSWER_MS)
      return Array.isArray(said) ? namedBy(said.map(String)) : null
    } catch {
      return null
    }
  }
}

export function addressOf({ host, port }: Pick<Named, 'host' | 'port'>): string {
  return `${host}:${port}`
}

/** Names and values in turn. */
function namedBy(said: readonly string[]): Named | null {
  const values = new Map<string, string>()
  for (let at = 0; at + 1 < said.length; at += 2) values.set(said[at] ?? '', said[at + 1] ?? '')
  const [host, port, epoch] = [
    values.get('ip'),
    Number(values.get('port')),
    Number(values.get('config-epoch')),
  ]
  return host === undefined || !Number.isInteger(port) || !Number.isInteger(epoch)
    ? null
    : { host, port, epoch }
}

/** Settings of a connection that asks a Sentinel again and again. */
export const SENTINEL_SETTINGS = {
  lazyConnect: false,
  enableReadyCheck: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  disableClientInfo: true,
  retryStrategy: () => RETRY_MS,
  replyMapping: 'legacy',
} as const
