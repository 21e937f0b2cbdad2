import type { Environment } from '../config/config.ts'
import { ConfigError } from '../config/variables.ts'
import { runChecks } from '../doctor/run-checks.ts'
import type { Finding } from '../domain/conditions/finding.ts'
import { SILENT_LOG } from '../lib/logger.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { Failure } from '../operations/failure.ts'
import { openPostgres, type Postgres } from '../store/connection/postgres.ts'
import { waitForReplica } from '../store/replica/replica-lag.ts'
import type { ReplicaState } from '../store/replica/reports.ts'
import type { HasPrice } from '../usage/unpriced-use.ts'
import { findPrices } from './gateway-prices.ts'
import { findOwnConfiguration } from './own-prices.ts'
import type { Servers } from './servers.ts'

/** Everything that can be wrong, seen from the machine of the command line. */
export async function inspectServers(
  { pool, locations }: Servers,
  env: Environment,
): Promise<readonly Finding[]> {
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
export async function findHasPrice(pool: Postgres, env: Environment): Promise<HasPrice | null> {
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
