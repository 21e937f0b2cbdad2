import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../config/config.ts'
import { readVariable } from '../config/environment.ts'
import { findOfferedPrices } from '../config/offered-prices.ts'
import { ConfigError } from '../config/variables.ts'
import { addOwnPrices } from '../config/yaml/price-config.ts'
import { runChecks } from '../doctor/run-checks.ts'
import type { Finding } from '../domain/conditions/finding.ts'
import type { SecretPorts } from '../keys/operations/secrets.ts'
import { inspectLedger } from '../ledger/operations/inspect-ledger.ts'
import type { Undrained } from '../ledger/operations/journal.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { Failure } from '../operations/failure.ts'
import type { AllPorts } from '../operator/chapters.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import { waitForReplica } from '../store/replica/replica-lag.ts'
import type { ReplicaState } from '../store/replica/reports.ts'
import { selectRequestedNames } from '../usage/query/select-usage.ts'
import type { HasPrice } from '../usage/unpriced-use.ts'
import type { Cli } from './cli.ts'
import { findRunning, findServers } from './find-servers.ts'
import { findPrices, type PriceOptions } from './gateway-prices.ts'
import { findOwnConfiguration } from './own-prices.ts'
import type { Servers } from './servers.ts'

/** Options of commands that are of no field. */
export interface CommandOptions extends PriceOptions {
  readonly progress?: boolean
  readonly output?: string
  readonly by?: string
}

/** Unpriced calls that are read one by one: a command may take some seconds. */
const MOST_UNPRICED_CALLS = 500_000n

/**
 * What an operation uses when the command line runs it.
 *
 * @param servers `null`: none is named, and what needs one fails.
 */
export function portsOf(servers: Servers | null, cli: Cli, options: CommandOptions): AllPorts {
  const needed = (): Servers => {
    if (servers !== null) return servers
    findServers(cli.env) // says what to set
    throw new Error('no database is named')
  }
  return {
    get pool() {
      return needed().pool
    },
    read: async (work) => await work(await needed().reports()),
    now: Date.now,
    holds: () => false,
    progress: (unit) => cli.progress(unit, options.progress === true),
    remark(text) {
      if (!cli.wantsJson()) cli.remark(text)
    },
    inspectLedger: () => inspectLedger({ pool: needed().pool, ...needed().locations }),
    ownJournals: () => null,
    configuredAxes: null,
    findPrices: (order) => findPrices(servers?.pool ?? null, cli.env, options, order),
    addOwnPrices: async (config, text) => addOwnPrices(config, text),
    findOfferedPrices: (path) => findOfferedPrices(cli.env, path),
    findAdminKey: (name) => cli.env[name] || null,
    findSecret: secretsOf(cli.env),
    mostUnpricedCalls: MOST_UNPRICED_CALLS,
    findRequestedNames: selectRequestedNames,
    inspect: () => inspectServers(needed(), cli.env),
    keyPeppers: servers?.locations.keyPeppers ?? [],
    newKeyPepper: () => needed().keyPepper(),
    locations: servers?.locations ?? null,
    drainFolder: (folder, timeoutMs) => drainFolder(folder, timeoutMs, needed(), cli),
    findReference: referencesOf(cli.env),
    async prove(wish) {
      // Nothing else of the command line starts servers.
      const { prove } = await import('../standalone/prove/prove.ts')
      const { openTerminal } = await import('../standalone/terminal.ts')
      const say = (line: string) => (cli.wantsJson() ? undefined : cli.remark(line))
      return await prove(wish, { say, ask: openTerminal().ask })
    },
  }
}

async function drainFolder(
  folder: string,
  timeoutMs: number,
  { pool, locations }: Servers,
  { env, remark }: Cli,
): Promise<Undrained> {
  if (!existsSync(folder)) throw new Failure(`${folder} is not there`)
  // Nothing else of the command line is a gateway.
  const { loadGatewayConfig } = await import('../config/config.ts')
  const gateway = await import('../gateway/drain-folder.ts')
  const config = loadGatewayConfig({
    ...env,
    DATABASE_URL: locations.databaseUrl,
    REDIS_URL: locations.redisUrl ?? '',
    KEY_PEPPER: locations.keyPeppers.join(','),
  })
  const log = { ...SILENT_LOG, error: (_: object, text: string) => remark(text) }
  return { openCalls: 0, ...(await gateway.drainFolder({ config, folder, pool, timeoutMs, log })) }
}

/** Their names in the data folder of `npm start`. */
const KEPT = { KEY_PEPPER: 'keyPepper', ADMIN_TOKEN: 'adminToken' } as const

function secretsOf(env: Environment): SecretPorts['findSecret'] {
  return (name) => {
    const value = readVariable(env, name) || findRunning(env)?.[KEPT[name]] || readDataFolder(env)[KEPT[name]]
    return typeof value === 'string' && value !== '' ? value : null
  }
}

/** `secrets.json` of the data folder; empty: there is none. */
function readDataFolder(env: Environment): Readonly<Record<string, unknown>> {
  try {
    return Object(
      JSON.parse(readFileSync(join(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '', 'secrets.json'), 'utf8')),
    )
  } catch {
    return {}
  }
}

/** What `${NAME}` and `file:/path` stand for in a declaration. One line break at a file's end is an editor's. */
function referencesOf(env: Environment): (reference: string) => string {
  return (reference) => {
    if (reference.startsWith('file:')) {
      const path = reference.slice('file:'.length)
      try {
        return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
      } catch (error) {
        throw new Failure(`${path} cannot be read: ${reasonOf(error)}`)
      }
    }
    const name = reference.slice(2, -1)
    const value = env[name]
    if (value === undefined || value === '') throw new Failure(`${name} is not set, and the file names it`)
    return value
  }
}

/** Everything that can be wrong, seen from the machine of the command line. */
async function inspectServers({ pool, locations }: Servers, env: Environment): Promise<readonly Finding[]> {
  return await runChecks({
    pool,
    ...locations,
    replica: await measureReplica(pool, locations.databaseReadUrl),
    ownPrices: (theirs) => findOwnConfiguration(env, theirs),
    findHasPrice: () => findHasPrice(pool, env),
  })
}

/** `null`: there is none. */
async function measureReplica(pool: Postgres, url: string | null): Promise<ReplicaState | null> {
  if (url === null) return null
  const replica = openPostgres(url, {
    max: 1,
    statementTimeoutMs: REPLICA_MS,
    applicationName: 'tallygate doctor',
    log: SILENT_LOG,
  })
  try {
    const askedAtMs = performance.now()
    const lag = await waitForReplica(pool, replica)
    if (lag.kind === 'unusable') return { isUsed: false, lagMs: null, problem: lag.problem }
    return { isUsed: true, lagMs: performance.now() - askedAtMs, problem: null }
  } catch (error) {
    return { isUsed: false, lagMs: null, problem: `does not answer (${reasonOf(error)})` }
  } finally {
    await replica.end()
  }
}

const REPLICA_MS = 3_000

/** By the prices that `prices check` uses; `null`: the configurations differ, which has a finding of its own. */
async function findHasPrice(pool: Postgres, env: Environment): Promise<HasPrice | null> {
  const nowMs = Date.now()
  try {
    const { config } = await findPrices(pool, env, {})
    return (provider, upstream, model, tier) =>
      config.catalog.knowsModel(provider, upstream, model, nowMs, tier)
  } catch (error) {
    if (error instanceof Failure || error instanceof ConfigError) return null
    throw error
  }
}
