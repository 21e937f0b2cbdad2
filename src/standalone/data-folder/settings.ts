import { type GatewayConfig, loadGatewayConfig } from '../../config/config.ts'
import { type Environment, readVariable } from '../../config/environment.ts'
import { parsePostgresUrl } from '../../domain/postgres-url/postgres-url.ts'

/** The settings of `npm start` from the environment. */
export interface Settings {
  /** As the gateway will read it, except for servers, secrets and upstream, which are created later. */
  readonly config: GatewayConfig
  /** null: a private server is wanted. */
  readonly databaseUrl: string | null
  readonly redisUrl: string | null
  /** null: the secret of the data folder. */
  readonly keyPepper: string | null
  readonly adminToken: string | null
  /** No backend was named. */
  readonly wantsDemoUpstream: boolean
}

/** Stands for values created later, so that all settings can be checked first. */
const MADE_LATER = {
  DATABASE_URL: 'postgresql://127.0.0.1/made-later',
  REDIS_URL: 'redis://127.0.0.1',
  KEY_PEPPER: 'made-later',
  UPSTREAM_URL: 'http://127.0.0.1:1',
}

/**
 * Reads and checks the whole environment.
 *
 * @throws ConfigError naming every problem
 */
export function readSettings(env: Environment): Settings {
  const given = (name: Parameters<typeof readVariable>[1]) => readVariable(env, name)
  const wantsDemoUpstream = given('UPSTREAM_URL') === null && given('TALLYGATE_CONFIG') === null
  const config = loadGatewayConfig({
    ...env,
    HOST: env.HOST || '127.0.0.1',
    DATABASE_URL: given('DATABASE_URL') ?? MADE_LATER.DATABASE_URL,
    REDIS_URL: given('REDIS_URL') ?? MADE_LATER.REDIS_URL,
    KEY_PEPPER: given('KEY_PEPPER') ?? MADE_LATER.KEY_PEPPER,
    ...(wantsDemoUpstream ? { UPSTREAM_URL: MADE_LATER.UPSTREAM_URL } : {}),
  })
  return {
    config,
    databaseUrl: given('DATABASE_URL'),
    redisUrl: given('REDIS_URL'),
    keyPepper: given('KEY_PEPPER'),
    adminToken: given('ADMIN_TOKEN'),
    wantsDemoUpstream,
  }
}

/** The host at which a listener is reached from this machine, for a URL. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** A server's address without its credentials, for a progress line. */
export function shownAddress(url: string): string {
  const parsed = parsePostgresUrl(url)
  if ('value' in parsed) {
    const { hosts, database } = parsed.value
    const names = hosts.map(({ host, port }) => `${host ?? 'localhost'}${port === null ? '' : `:${port}`}`)
    return names.join(',') + (database === null ? '' : `/${database}`)
  }
  try {
    const { host, pathname } = new URL(url)
    return `${host}${pathname}`
  } catch {
    return 'the address given'
  }
}
