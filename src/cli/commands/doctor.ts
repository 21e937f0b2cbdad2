import type { Command } from 'commander'
import { selectLedgerStatus, selectStreams } from '../../store/ledger-state.ts'
import { withRedis } from '../../store/redis-once.ts'
import { type Finding, note, wrong } from '../checks/finding.ts'
import { checkGateway } from '../checks/gateway.ts'
import { checkJournal } from '../checks/journal.ts'
import { checkKeys } from '../checks/keys.ts'
import { checkDeadLetters, checkGaps, checkPrices } from '../checks/ledger.ts'
import { checkMigrations, checkPostgres } from '../checks/postgres.ts'
import { checkBacklog, checkRedis } from '../checks/redis.ts'
import type { Cli } from '../cli.ts'
import { reasonOf } from '../explain-error.ts'
import { type Servers, SILENT } from '../servers.ts'
import { printable } from '../table.ts'

/** `doctor`: what is reachable and what is wrong, one line each with a mend. Exit code 1 when something is wrong. */
export function addDoctorCommand(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('see whether everything works, and what to do where it does not')
    .action(async () => {
      const findings = await cli.withServers(examine)
      const healthy = findings.every(({ state }) => state !== 'wrong')
      cli.print({ ok: healthy, node: process.version, checks: findings }, text(findings))
      if (!healthy) cli.fail()
    })
}

async function examine(servers: Servers): Promise<readonly Finding[]> {
  const { journalDir, adminUrl } = servers.whereabouts
  const [inPostgres, inRedis, others] = await Promise.all([
    examinePostgres(servers),
    examineRedis(servers),
    Promise.all([checkJournal(journalDir), ...(adminUrl === null ? [] : [checkGateway(adminUrl)])]),
  ])
  return [...inPostgres, ...inRedis, ...others]
}

/** Each look needs the one before: without an answer there are no tables, without tables no figures. */
async function examinePostgres({ pool, whereabouts }: Servers): Promise<readonly Finding[]> {
  const postgres = await checkPostgres(pool)
  if (postgres.state === 'wrong') return [postgres]
  const migrations = await checkMigrations(pool)
  if (migrations.state === 'wrong') return [postgres, migrations]
  const ledger = await selectLedgerStatus(pool)
  return [
    postgres,
    migrations,
    await checkKeys(pool, whereabouts.keyPeppers),
    checkGaps(ledger),
    checkDeadLetters(ledger),
    await checkPrices(pool),
  ]
}

const REDIS_SILENCE_MS = 3_000

async function examineRedis({ pool, whereabouts }: Servers): Promise<readonly Finding[]> {
  if (whereabouts.redisUrl === null)
    return [note('redis', 'not looked at', 'set REDIS_URL as the gateway has it')]
  // Where Postgres cannot name the streams, which it tells itself, there is at least the one that is always there.
  const streams = await selectStreams(pool).catch(() => [`${whereabouts.redisPrefix}calls`])
  try {
    return await withRedis(whereabouts.redisUrl, REDIS_SILENCE_MS, SILENT, async (redis) => [
      await checkRedis(redis),
      await checkBacklog(redis, streams),
    ])
  } catch (error) {
    return [wrong('redis', `not reachable: ${reasonOf(error)}`, 'start it, or correct REDIS_URL')]
  }
}

const MARKS: Readonly<Record<Finding['state'], string>> = { ok: 'ok   ', note: 'note ', wrong: 'WRONG' }

function text(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, state, detail, mend }) => {
      const advice = mend === null ? '' : ` -> ${mend}`
      return printable(`${MARKS[state]}  ${name.padEnd(width)}  ${detail}${advice}`)
    })
    .join('\n')
}
