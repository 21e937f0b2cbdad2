import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import type { Environment } from '../config/environment.ts'
import { findOfferedPrices } from '../config/offered-prices.ts'
import { addOwnPrices } from '../config/yaml/price-config.ts'
import { runChecks } from '../doctor/run-checks.ts'
import { health, NO_PARAMETERS, type Readiness } from '../http/listener.ts'
import { CheckedTokens } from '../keys/tokens/checked-tokens.ts'
import { findTokenHolder } from '../keys/tokens/operator-tokens.ts'
import type { LedgerStats } from '../ledger/ledger.ts'
import { inspectLedger } from '../ledger/operations/inspect-ledger.ts'
import { NO_PROGRESS } from '../operations/ports.ts'
import { conflict } from '../operations/refuse.ts'
import { describeDisagreement } from '../pricing/conditions/gateway-prices.ts'
import type { PricesInForce } from '../pricing/operations/prices-in-force.ts'
import { selectGatewayPrices } from '../pricing/refresh/gateway-prices.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import type { Reports } from '../store/replica/reports.ts'
import type { HasPrice } from '../usage/unpriced-use.ts'
import { operatorOf, requireToken } from './admin-token.ts'
import { allowMethods } from './allow-methods.ts'
import { type AllPorts, OPERATIONS } from './chapters.ts'
import { compress } from './compress.ts'
import { dashboard } from './dashboard.ts'
import { type MetricsOptions, metrics } from './metrics.ts'
import { openListener } from './open-listener.ts'
import { buildOpenApi, type OpenApiContext } from './openapi/document.ts'
import { providerProjects } from './provider-reports/projects.ts'
import { providerReports, takeApiKey } from './provider-reports/provider-reports.ts'
import { serveOperations } from './serve-operations.ts'
import { signInOperators } from './sign-in/operators.ts'
import type { SignInProvider } from './sign-in/provider.ts'

export interface AdminOptions {
  readonly logger: NonNullable<FastifyServerOptions['loggerInstance']>
  /** `null`: there is no `/admin/v1` and no dashboard. */
  readonly adminToken: string | null
  /** How people sign in; absent: by tokens alone. */
  readonly signIn?: SignInProvider | null
  readonly metrics: MetricsOptions
  readonly readiness: () => Readiness
  readonly ledgerStats: () => LedgerStats
  /** The prices in use now. */
  readonly prices: () => Pick<PricesInForce, 'config' | 'configuration'>
  /** The axes of the configuration; absent: none. */
  readonly axes?: AllPorts['configuredAxes']
  /** Where newer price data is, and the keys of organizations' admins. */
  readonly env: Environment
  /**
   * Preferably a pool of its own with few connections: the operator's queries must not delay those of
   * clients.
   */
  readonly pool: Postgres
  /** For what each request waits for: whether a token is in force. */
  readonly polls: Postgres
  /** For what only reads, over many rows. */
  readonly reports: Reports
  /** Opens a connection for one long operation, which ends it. */
  readonly openLong: () => Postgres
  readonly redisUrl: string
  readonly redisPrefix: string
  /** Announces to all gateways that clients, keys or limits changed. It is not awaited: gateways poll soon enough. */
  readonly announceKeyChange: () => void
  /** The secrets of keys at rest, at least one; the first hashes new keys. */
  readonly peppers: readonly string[]
  readonly journalDir: string
  /** Where clients reach the gateway, for the description of its operations: `http://localhost:8080/llm`. */
  readonly baseUrl: string
  readonly version: string
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/**
 * The operator's server, not yet listening. It is apart from the clients' server: an upstream's answer must
 * never share an origin with the dashboard. Routes without a token come first.
 */
export function buildAdmin(options: AdminOptions): FastifyInstance {
  const app = openListener(options.logger)
  compress(app)
  health(app, '', options.readiness)
  metrics(app, options.metrics)
  openapi(app, { baseUrl: options.baseUrl, version: options.version })
  const { adminToken } = options
  if (adminToken !== null) {
    dashboard(app, options.signIn !== undefined && options.signIn !== null)
    if (options.signIn)
      signInOperators(app, { ...options, provider: options.signIn, pool: options.polls, log: app.log })
    const tokens = new CheckedTokens(['operator'], options.peppers, (digests) =>
      findTokenHolder(options.polls, digests),
    )
    app.register(
      async (guarded) => {
        requireToken(guarded, adminToken, tokens)
        allowMethods(guarded)
        operations(guarded, options)
      },
      { prefix: '/admin/v1' },
    )
    app.register(async (guarded) => {
      takeApiKey(guarded)
      requireToken(guarded, adminToken, tokens)
      providerReports(guarded, options)
      providerProjects(guarded, options)
    })
  }
  return app
}

/** Connects the admin routes to the stores. */
function operations(app: FastifyInstance, options: AdminOptions): void {
  const { pool, reports, peppers, redisUrl, redisPrefix, journalDir, now } = options
  const [pepper] = peppers
  if (pepper === undefined) throw new Error('there is no secret to hash new keys with')

  const findPrices = async (): Promise<PricesInForce> => {
    const own = options.prices()
    const gateways = await selectGatewayPrices(pool)
    const disagreement = describeDisagreement(own.configuration, gateways)
    if (disagreement !== null) throw conflict(disagreement)
    return { ...own, gateways: gateways.map(({ gateway }) => gateway), hasLines: false }
  }

  const findHasPrice = async (): Promise<HasPrice | null> => {
    const { config, configuration } = options.prices()
    if (describeDisagreement(configuration, await selectGatewayPrices(pool)) !== null) return null
    return (provider, upstream, model, tier) =>
      config.catalog.knowsModel(provider, upstream, model, now(), tier)
  }

  const ports: AllPorts = {
    inspectLedger: () => inspectLedger({ pool, redisUrl, journalDir }),
    ownJournals: options.ledgerStats,
    configuredAxes: options.axes ?? null,
    findPrices,
    addOwnPrices: async (config, text) => addOwnPrices(config, text),
    findOfferedPrices: (path) => findOfferedPrices(options.env, path),
    findAdminKey: (name) => options.env[name] || null,
    findRequestedNames: async () => [],
    inspect: () =>
      runChecks({
        pool,
        redisUrl,
        redisPrefix,
        keyPeppers: peppers,
        replica: reports.state(),
        journalDir,
        adminUrl: null,
        findHasPrice,
      }),
    pool,
    read: (work) => reports.read(work),
    now,
    holds: () => false,
    progress: () => NO_PROGRESS,
    remark() {},
    keyPeppers: peppers,
    newKeyPepper: () => pepper,
    findSecret: () => null,
    locations: null,
    drainFolder: null,
    prove: null,
    findReference: null,
  }
  serveOperations(app, OPERATIONS, {
    ports: () => ports,
    actorOf: operatorOf,
    announce: options.announceKeyChange,
    openLong: options.openLong,
    replicaLagMs: () => {
      const replica = reports.state()
      return replica?.isUsed === true ? replica.lagMs : null
    },
  })
}

/** `GET /openapi.json`: OpenAPI 3.1 of everything that the gateway itself answers, on both listeners. */
function openapi(app: FastifyInstance, context: OpenApiContext): void {
  let document: string | null = null
  app.get('/openapi.json', NO_PARAMETERS, async (_request, reply) => {
    document ??= JSON.stringify(buildOpenApi(context))
    return reply.type('application/json; charset=utf-8').send(document)
  })
}
