import { percentDecoded } from '../canonical-path.ts'

export interface RedisHost {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string
  readonly port: number
}

interface Credentials {
  /** `null`: the default user. */
  readonly user: string | null
  readonly password: string | null
}

interface Shared extends Credentials {
  readonly tls: boolean
  /** 0: whatever a name resolves to. */
  readonly family: 0 | 4 | 6
}

/** The address of Redis, and how to log in. */
export type RedisAddress =
  | (Shared & { readonly kind: 'server'; readonly hosts: readonly RedisHost[]; readonly database: number })
  | (Shared & { readonly kind: 'socket'; readonly path: string; readonly database: number })
  | (Shared & {
      readonly kind: 'sentinels'
      readonly hosts: readonly RedisHost[]
      readonly database: number
      /** The name that the Sentinels give the master. */
      readonly master: string
      /** For the Sentinels themselves. */
      readonly sentinel: Credentials
    })
  /** Any nodes of the cluster, which know the others. */
  | (Shared & { readonly kind: 'cluster'; readonly hosts: readonly RedisHost[] })

export type ParsedRedisUrl =
  | { readonly address: RedisAddress; readonly problems: readonly [] }
  /** A sentence each; none repeats the URL, which may hold a password. */
  | { readonly address: null; readonly problems: readonly string[] }

const SCHEMES: Readonly<Record<string, { readonly kind: RedisAddress['kind']; readonly tls: boolean }>> = {
  redis: { kind: 'server', tls: false },
  rediss: { kind: 'server', tls: true },
  'redis+unix': { kind: 'socket', tls: false },
  'redis-sentinel': { kind: 'sentinels', tls: false },
  'rediss-sentinel': { kind: 'sentinels', tls: true },
  'redis-cluster': { kind: 'cluster', tls: false },
  'rediss-cluster': { kind: 'cluster', tls: true },
}
const PORT = 6_379
const SENTINEL_PORT = 26_379
const LAST_PORT = 65_535
const SHAPE = /^([a-z+-]+):\/\/(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?$/i
const SENTINEL_FORM = 'redis-sentinel://host:26379,host:26379/0#master'
const CLUSTER_FORM = 'redis-cluster://host:6379,host:6379'

/**
 * Parses REDIS_URL: `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS, `redis+unix:///path[?db=0]`
 * or the path alone, `redis-sentinel://[user:password@]host:port,…/database#master` and
 * `redis-cluster://[user:password@]host:port,…`, both with TLS as `rediss-…`. `valkey` may stand for `redis` in each.
 * User and password are percent-encoded. Parameters: `family=4|6`; `db` of a socket; `sentinel_user` and
 * `sentinel_password` of Sentinels that ask for a login themselves.
 */
export function parseRedisUrl(text: string): ParsedRedisUrl {
  const problems: string[] = []
  const address = new RedisUrlParser(text.startsWith('/') ? `redis+unix://${text}` : text, problems).parse()
  return address === null || problems.length > 0 ? { address: null, problems } : { address, problems: [] }
}

class RedisUrlParser {
  readonly #problems: string[]
  readonly #shape: RegExpExecArray | null
  readonly #parameters: Map<string, string>

  constructor(text: string, problems: string[]) {
    this.#problems = problems
    this.#shape = SHAPE.exec(text)
    this.#parameters = new Map(new URLSearchParams(this.#shape?.[5] ?? ''))
  }

  parse(): RedisAddress | null {
    const [, written = ''] = this.#shape ?? []
    const scheme = written.toLowerCase().replace(/^valkey/, 'redis')
    const form = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined
    if (form === undefined) {
      const schemes = Object.keys(SCHEMES).map((name) => `${name}://`)
      return this.#wrong(`must be a URL that begins with ${schemes.join(', ')}, or the path of a Unix socket`)
    }
    const shared = { ...this.#credentials(), tls: form.tls, family: this.#family() }
    const address = this.#addressOf(form.kind, shared)
    const [unknown] = this.#parameters.keys()
    if (unknown !== undefined) this.#wrong(unknownParameter(unknown))
    return address
  }

  #addressOf(kind: RedisAddress['kind'], shared: Shared): RedisAddress | null {
    const [, , , , path = '', , fragment] = this.#shape ?? []
    if (fragment !== undefined && kind !== 'sentinels')
      this.#wrong(`must have no #: only ${SENTINEL_FORM} names a master (a # of a password is written %23)`)
    switch (kind) {
      case 'server':
        return { ...shared, kind, hosts: this.#singleHost(), database: this.#database(path.slice(1)) }
      case 'socket':
        return { ...shared, kind, path: this.#socketPath(path), database: this.#database(this.#take('db')) }
      case 'sentinels':
        return {
          ...shared,
          kind,
          hosts: this.#hosts(SENTINEL_PORT),
          database: this.#database(path.slice(1)),
          master: this.#master(fragment),
          sentinel: { user: this.#take('sentinel_user'), password: this.#take('sentinel_password') },
        }
      case 'cluster':
        if (path.length > 1)
          this.#wrong('must have no number after the hosts: a cluster has no database but the first')
        return { ...shared, kind, hosts: this.#hosts(PORT) }
      default:
        return kind satisfies never
    }
  }

  #credentials(): Credentials {
    const [, , login] = this.#shape ?? []
    if (login === undefined || login === '') return { user: null, password: null }
    const colon = login.indexOf(':')
    const user = this.#decoded(colon === -1 ? login : login.slice(0, colon))
    const password = colon === -1 ? '' : this.#decoded(login.slice(colon + 1))
    return { user: user || null, password: password || null }
  }

  #decoded(text: string): string {
    const decoded = percentDecoded(text)
    if (decoded === null)
      this.#wrong('has a % that begins no percent-encoding: in a user or password it is written %25')
    return decoded ?? ''
  }

  #singleHost(): readonly RedisHost[] {
    const hosts = this.#hosts(PORT)
    if (hosts.length > 1)
      this.#wrong(`names several hosts: write ${CLUSTER_FORM} for a cluster, ${SENTINEL_FORM} for Sentinels`)
    return hosts
  }

  #hosts(defaultPort: number): readonly RedisHost[] {
    const [, , , list = ''] = this.#shape ?? []
    return list.split(',').flatMap((item) => {
      const [, bracketed, plain, digits] = /^(?:\[([\da-f:.%]+)\]|([^\s:[\]]+))(?::(\d+))?$/i.exec(item) ?? []
      const host = bracketed ?? plain
      const port = digits === undefined ? defaultPort : Number(digits)
      if (host !== undefined && port > 0 && port <= LAST_PORT) return [{ host, port }]
      this.#wrong('must name a host, or host:port, after the ://')
      return []
    })
  }

  #socketPath(path: string): string {
    const [, , , host = ''] = this.#shape ?? []
    if (host !== '' || path.length < 2)
      this.#wrong('must name the whole path of a Unix socket, as in redis+unix:///run/redis/redis.sock')
    return this.#decoded(path)
  }

  #database(text: string | null): number {
    if (text === null || text === '') return 0
    if (/^\d{1,5}$/.test(text)) return Number(text)
    this.#wrong('must have the number of a database, or nothing, after the hosts')
    return 0
  }

  #master(fragment: string | undefined): string {
    if (fragment === undefined || fragment === '')
      this.#wrong(`must end with the name that the Sentinels give the master, as in ${SENTINEL_FORM}`)
    return this.#decoded(fragment ?? '')
  }

  #family(): 0 | 4 | 6 {
    const family = this.#take('family')
    if (family === null || family === '0') return 0
    if (family === '4') return 4
    if (family !== '6') this.#wrong('must have 4 or 6 as its parameter family')
    return 6
  }

  /** Each parameter is taken once; those that are left are unknown. */
  #take(name: string): string | null {
    const value = this.#parameters.get(name) ?? null
    this.#parameters.delete(name)
    return value
  }

  #wrong(problem: string): null {
    if (!this.#problems.includes(problem)) this.#problems.push(problem)
    return null
  }
}

/** The name is shown where it is a plain word: what follows a ? that was not percent-encoded may be a password. */
function unknownParameter(name: string): string {
  if (/^sentinel/i.test(name))
    return `has a parameter that is not known: write ${SENTINEL_FORM} for Sentinels`
  return 'has a parameter that is not known: there are family, db of a socket, sentinel_user and sentinel_password'
}
