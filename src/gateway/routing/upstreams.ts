import { type Dispatcher, Pool } from 'undici'
import type { Provider } from '../../providers/registry.ts'

/** A backend as the stations need it: where its bytes go and how its answers are read. */
export interface Upstream {
  readonly name: string
  /** `scheme://host:port`. */
  readonly origin: string
  /** `host[:port]` for the Host header. */
  readonly host: string
  /** Path put before the client's, '' or `/x`: by concatenation, so that not a byte of the client's is normalised. */
  readonly basePath: string
  readonly provider: Provider
  /** Name and value of the header that carries our credential; `null`: none is sent. */
  readonly credential: readonly [name: string, value: string] | null
  readonly models: readonly string[] | null
  readonly pathPrefix: string | null
  readonly includeUsage: 'auto' | 'always' | 'never'
  /** Whose files, batches, responses, ... a client sees and uses: its own, or all of the account's. */
  readonly objects: 'owned' | 'shared'
  /** The names of all upstreams at the same address, which have the same objects; its own among them. */
  readonly account: readonly string[]
  readonly pool: Dispatcher
}

export interface PoolLimits {
  /** Milliseconds to wait for the response's headers. */
  readonly headersTimeoutMs: number
  /** Milliseconds between two pieces of a body. */
  readonly idleTimeoutMs: number
}

/** Connections to one origin: as many as there are calls under way, TLS verified, HTTP/1.1. */
export function openPool(origin: string, limits: PoolLimits): Pool {
  return new Pool(origin, {
    // Every open stream holds a connection; a limit here would make the next call wait for a stranger's stream.
    connections: null,
    pipelining: 1,
    // HTTP/2 would give header objects where the bytes as sent are wanted.
    allowH2: false,
    headersTimeout: limits.headersTimeoutMs,
    bodyTimeout: limits.idleTimeoutMs,
    // Below the five seconds after which Node's and many other servers close an idle connection.
    keepAliveTimeout: 4_000,
    maxHeaderSize: 64 * 1024,
    connect: { timeout: 10_000, rejectUnauthorized: true, autoSelectFamily: true },
  })
}
