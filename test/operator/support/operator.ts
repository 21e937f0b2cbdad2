import type { FastifyInstance, InjectOptions } from 'fastify'
import { pino } from 'pino'
import { z } from 'zod'
import { bundledText } from '#prices/bundled-lists.ts'
import { type AdminOptions, buildAdmin } from '../../../src/operator/admin.ts'
import { buildOpenApi } from '../../../src/operator/openapi/document.ts'
import type { Method } from '../../../src/operator/openapi/types.ts'
import { buildCatalog } from '../../../src/pricing/catalog/catalog.ts'
import { buildPriceConfiguration } from '../../../src/pricing/price-configuration.ts'
import { bundledEntries } from '../../../src/pricing/sources/catalog-bundle.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { primaryReports } from '../../../src/store/replica/reports.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'
import { type TestPrefix, testRedisPrefix } from '../../support/servers/redis.ts'

export const TOKEN = 'operator-token'

/** An operator's listener on a database of its own, with what a test wants otherwise. */
export interface Operator {
  readonly app: FastifyInstance
  readonly database: TestDatabase
  readonly pool: Postgres
  readonly keys: TestPrefix
  /** How often a change of clients or keys was announced to gateways. */
  announcements(): number
  /** What was logged, as JSON lines. */
  log(): string
  /** Asks with the token. */
  ask(options: InjectOptions | string): Promise<{ status: number; document: unknown }>
  close(): Promise<void>
}

export async function startOperator(changes: Partial<AdminOptions> = {}): Promise<Operator> {
  const database = await createTestDatabase()
  const lines: string[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
  const pool = openPostgres(database.url, {
    max: 3,
    statementTimeoutMs: 5_000,
    applicationName: 'test',
    log: logger,
  })
  const keys = testRedisPrefix()
  let announcements = 0
  const app = buildAdmin({
    logger,
    adminToken: TOKEN,
    metrics: { contentType: 'text/plain', render: async () => 'metric 1\n' },
    readiness: () => ({ ready: true, degraded: [] }),
    ledgerStats: () => STATS,
    prices: () => OWN_PRICES,
    env: { PRICES_URL: 'http://127.0.0.1:9/data.json' },
    pool,
    polls: pool,
    reports: primaryReports(changes.pool ?? pool),
    openLong: () =>
      openPostgres(database.url, {
        max: 1,
        statementTimeoutMs: 5_000,
        applicationName: 'long test',
        log: logger,
      }),
    redisUrl: keys.redisUrl,
    redisPrefix: keys.prefix,
    announceKeyChange: () => {
      announcements += 1
    },
    peppers: ['pepper'],
    journalDir: '/nowhere/journal',
    baseUrl: 'http://localhost:8080',
    version: '1.2.3',
    now: Date.now,
    ...changes,
  })
  const unsaid = watchRefusals(app)
  return {
    app,
    database,
    pool,
    keys,
    announcements: () => announcements,
    log: () => lines.join(''),
    async ask(options) {
      const wanted = typeof options === 'string' ? { url: options } : options
      const { statusCode, body } = await app.inject({
        ...wanted,
        headers: { authorization: `Bearer ${TOKEN}`, ...wanted.headers },
      })
      return { status: statusCode, document: JSON.parse(body) }
    },
    async close() {
      await app.close()
      await pool.end()
      await database.drop()
      await keys.drop()
      // Only an answer shows that an operation refuses for what its `errors` do not have.
      if (unsaid.size > 0)
        throw new Error(`Not in the \`errors\` of the operation: ${[...unsaid].join(', ')}`)
    },
  }
}

const DESCRIBED = buildOpenApi({ baseUrl: '', version: '' }).paths

/** Gets the refusals of operations that `/openapi.json` does not have. */
function watchRefusals(app: FastifyInstance): ReadonlySet<string> {
  const unsaid = new Set<string>()
  app.addHook('onSend', async ({ method, routeOptions: { url = '' } }, { statusCode }, payload) => {
    const path = DESCRIBED[url.replace(/:(\w+)/g, '{$1}')]
    const said = path?.[method.toLowerCase() as Method]?.responses
    if (!url.startsWith('/admin/v1/') || !REFUSED.has(statusCode) || said === undefined) return
    const { code } = REFUSAL.parse(JSON.parse(String(payload))).error
    if (!JSON.stringify(said[statusCode] ?? '').includes(`"code":${JSON.stringify(code)}`))
      unsaid.add(`${code} of ${method} ${url}`)
  })
  return unsaid
}

/** The others are of no single operation. */
const REFUSED: ReadonlySet<number> = new Set([400, 403, 404, 409])
const REFUSAL = z.object({ error: z.object({ code: z.string().nullable() }) })

const CATALOG = buildCatalog()
const NO_SETTINGS = { prices: [], markups: [], upstreams: [] }

/** Prices of a gateway without any of its own. */
export const OWN_PRICES = {
  config: {
    catalog: CATALOG,
    settings: NO_SETTINGS,
    upstreams: [{ name: 'openai', provider: 'openai', pricesOf: null, trustReportedCost: false }],
    source: { entries: bundledEntries(), text: bundledText },
  },
  configuration: buildPriceConfiguration(CATALOG.source, NO_SETTINGS),
}

/** The same, with an answer of its own to whether calls have a price. */
export function pricesWhere(knowsModel: (provider: string, upstream: string, model: string) => boolean) {
  return { ...OWN_PRICES, config: { ...OWN_PRICES.config, catalog: { ...CATALOG, knowsModel } } }
}

const STATS = {
  uncommittedRecords: 4,
  uncommittedBytes: 2_048,
  oldestUncommittedMs: 12.5,
  openCalls: 3,
  last: 40,
  synced: 39,
  sent: 38,
  committedOffset: 36,
  pruned: 10,
  adopted: 1,
  corrupt: 0,
  redisConnected: true,
  journalWritable: true,
}
