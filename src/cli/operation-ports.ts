import { existsSync } from 'node:fs'
import { findOfferedPrices } from '../config/offered-prices.ts'
import { addOwnPrices } from '../config/yaml/price-config.ts'
import { inspectLedger } from '../ledger/operations/inspect-ledger.ts'
import type { Undrained } from '../ledger/operations/journal.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { Failure } from '../operations/failure.ts'
import type { AllPorts } from '../operator/chapters.ts'
import { selectRequestedNames } from '../usage/query/select-usage.ts'
import type { Cli } from './cli.ts'
import { findServers } from './find-servers.ts'
import { findPrices, type PriceOptions } from './gateway-prices.ts'
import { inspectServers } from './inspect-servers.ts'
import { referencesOf, secretsOf } from './secrets.ts'
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
