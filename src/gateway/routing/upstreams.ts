import { ConnectionPool } from '../../http/client/connection-pool.ts'
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
  /** Path and query of its list of models; `null`: it has none. */
  readonly modelsPath: string | null
  readonly pathPrefix: string | null
  readonly includeUsage: 'auto' | 'always' | 'never'
  /** Which files, batches, responses and so on a client sees and uses: its own, or all of the account's. */
  readonly objects: 'owned' | 'shared'
  /** The names of all upstreams at the same address, its own among them: they share their objects. */
  readonly account: readonly string[]
  /** The gateway's base path. */
  readonly mountedAt: string
  /** Where clients reach the gateway, its base path included; `null`: where a call was sent. */
  readonly publicUrl: string | null
  /** The gateway says itself which web pages may read its answers: what an upstream says of that ends here. */
  readonly ownsOrigins: boolean
  readonly pool: ConnectionPool
}

export interface PoolLimits {
  /** Milliseconds to wait for the response's headers. */
  readonly headersTimeoutMs: number
  /** Milliseconds between two pieces of a body. */
  readonly idleTimeoutMs: number
}

/** Connections to one origin, as many as there are calls under way. */
export function openPool(origin: string, { headersTimeoutMs, idleTimeoutMs }: PoolLimits): ConnectionPool {
  return new ConnectionPool(origin, {
    connectMs: 10_000,
    headersMs: headersTimeoutMs,
    bodyMs: idleTimeoutMs,
  })
}
