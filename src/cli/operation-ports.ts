import { inspectLedger } from '../doctor/inspect-ledger.ts'
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
  }
}
