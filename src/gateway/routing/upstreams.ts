import { type Dispatcher, Pool } from 'undici'
import type { Provider } from '../../providers/registry.ts'

/** A backend as the stages need it: where its bytes go and how its answers are read. */
export interface Upstream {
  readonly name: string
  /** `scheme://host:port`. */
  readonly origin: string
  /** `host[:port]` for the Host header. */
  readonly host: string
  /**
   * Put before the client's path, '' or `/x`. By concatenation, so that no byte of the client's is
   * normalised.
   */
  readonly basePath: string
  readonly provider: Provider
  /** Name and value of the header that carries our credential; `null`: none is sent. */
  readonly credential: readonly [name: string, value: string] | null
  readonly models: readonly string[] | null
  readonly pathPrefix: string | null
  readonly includeUsage: 'auto' | 'always' | 'never'
  /** Which files, batches, responses and so on a client sees and uses: its own, or all of the account's. */
  readonly objects: 'owned' | 'shared'
  /** The names of all upstreams at the same address, its own among them: they share their objects. */
  readonly account: readonly string[]
  readonly pool: Dispatcher
}

export interface PoolLimits {
  /** Milliseconds to wait for the response's headers. */
  readonly headersTimeoutMs: number
  /** Milliseconds between two pieces of a body. */
  readonly idleTimeoutMs: number
}

/** Connections to one origin, as many as there are calls under way: HTTP/1.1, with verified TLS. */
export function openPool(origin: string, limits: PoolLimits): Pool {
  return new Pool(origin, {
    // Every open stream holds a connection: with a limit, a call would wait for the end of another client's
    // stream.
    connections: null,
    pipelining: 1,
    // HTTP/2 would give parsed headers, and clients get the bytes as they were sent.
    allowH2: false,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.idleTimeoutMs,
    // Less than the five seconds after which Node and many other servers close an idle connection.
    keepAliveTimeout: 4_000,
    maxHeaderSize: 64 * 1024,
    connect: { timeout: 10_000, rejectUnauthorized: true, autoSelectFamily: true },
  })
}
