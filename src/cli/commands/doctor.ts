import type { Command } from 'commander'
import type { Environment } from '../../config/config.ts'
import { ConfigError } from '../../config/variables.ts'
import { Failure } from '../../doctor/failure.ts'
import { renderFindings, runChecks } from '../../doctor/run-checks.ts'
import type { Finding } from '../../domain/conditions/finding.ts'
import { SILENT_LOG } from '../../lib/logger.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { printable } from '../../operations/table.ts'
import { openPostgres, type Postgres } from '../../store/connection/postgres.ts'
import { waitForReplica } from '../../store/replica/replica-lag.ts'
import type { ReplicaState } from '../../store/replica/reports.ts'
import type { HasPrice } from '../../usage/unpriced-use.ts'
import type { Cli } from '../cli.ts'
import { findPricesInForce } from '../gateway-prices.ts'
import { findOwnConfiguration } from '../own-prices.ts'

/**
 * `doctor`: what is reachable and what is wrong, one line each with what to do. Exit code 1 when something is
 * wrong.
 */
export function addDoctorCommand(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('see whether everything works, and what to do where it does not')
    .action(async () => {
      const findings = await cli.withServers(async ({ pool, locations }) =>
        runChecks({
          pool,
          ...locations,
          replica: await measureReplica(pool, locations.databaseReadUrl),
          ownPrices: (theirs) => findOwnConfiguration(cli.env, theirs),
          findHasPrice: () => findHasPrice(pool, cli.env),
        }),
      )
      const report = renderFindings(findings)
      cli.print(report, text(findings))
      if (!report.ok) cli.fail()
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
    const { config } = await findPricesInForce(pool, env, {})
    return (provider, upstream, model, tier) =>
      config.catalog.knowsModel(provider, upstream, model, nowMs, tier)
  } catch (error) {
    if (error instanceof Failure || error instanceof ConfigError) return null
    throw error
  }
}

const STATE_LABELS: Readonly<Record<Finding['state'], string>> = {
  ok: 'ok   ',
  note: 'note ',
  wrong: 'WRONG',
}

function text(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, state, detail, mend }) => {
      const advice = mend === null ? '' : ` -> ${mend}`
      return printable(`${STATE_LABELS[state]}  ${name.padEnd(width)}  ${detail}${advice}`)
    })
    .join('\n')
}
