import { existsSync } from 'node:fs'
import { inspectLedger } from '../ledger/operations/inspect-ledger.ts'
import type { Undrained } from '../ledger/operations/journal.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { Failure } from '../operations/failure.ts'
import type { AllPorts } from '../operator/chapters.ts'
import { selectRequestedNames } from '../usage/query/select-usage.ts'
import type { Cli } from './cli.ts'
import { findHasPrice, inspectServers } from './inspect-servers.ts'
import type { Servers } from './servers.ts'

/** What an operation uses when the command line runs it. */
export function portsOf(servers: Servers, cli: Cli, wantsProgress: boolean): AllPorts {
  return {
    pool: servers.pool,
    read: async (work) => await work(await servers.reports()),
    now: Date.now,
    progress: (unit) => cli.progress(unit, wantsProgress),
    remark(text) {
      if (!cli.wantsJson()) cli.remark(text)
    },
    inspectLedger: () => inspectLedger({ pool: servers.pool, ...servers.locations }),
    ownJournals: () => null,
    findHasPrice: () => findHasPrice(servers.pool, cli.env),
    findRequestedNames: selectRequestedNames,
    inspect: () => inspectServers(servers, cli.env),
    newKeyPepper: () => servers.keyPepper(),
    locations: servers.locations,
    drainFolder: (folder, timeoutMs) => drainFolder(folder, timeoutMs, servers, cli),
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
