import type { UtcDay } from '../../src/domain/utc-day.ts'
import { summarise } from '../../src/usage/summaries/summarise.ts'
import { runCommand } from '../long/run-command.ts'
import { cpuBetween, useOf } from '../overhead/proc.ts'
import { EXPORT } from './queries.ts'
import type { Answer, Database, Gateway } from './testbed.ts'

/** What one query costs. */
export interface Measured {
  readonly query: string
  readonly status: number
  /** Of the answer; the largest. */
  readonly bytes: number
  readonly asked: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of PostgreSQL, for one answer. */
  readonly postgresMs: number
}

/** What it takes to sum all days and months up that are over. */
export interface Summing {
  readonly days: number
  readonly months: number
  readonly seconds: number
  /** Of PostgreSQL. */
  readonly postgresSeconds: number
}

export async function sumUp({ pool, postgresPid }: Database): Promise<Summing> {
  const startedMs = performance.now()
  const before = useOf(postgresPid)
  const { days, months, failed, isDone } = await summarise(pool, Number.POSITIVE_INFINITY)
  const postgresUs = cpuBetween(before, useOf(postgresPid)) ?? Number.NaN
  const seconds = (performance.now() - startedMs) / 1e3
  if (!isDone) throw new Error(`not all is summed up: ${failed[0]?.error.message}`)
  if (days.length > 0) await pool.query('vacuum analyze')
  return { days: days.length, months: months.length, seconds, postgresSeconds: postgresUs / 1e6 }
}

const OPERATOR_ROUNDS = 3

/** Each query by each client, one after the other: first once, to fill caches, then measured. */
export async function measureClients(
  gateway: Gateway,
  database: Database,
  keys: readonly string[],
  queries: readonly string[],
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  for (const query of queries) {
    for (const key of keys) await gateway.askAsClient(key, query)
    const asks = keys.map((key) => () => gateway.askAsClient(key, query))
    measured.push(await measure(query, database, asks))
  }
  return measured
}

export async function measureOperator(
  gateway: Gateway,
  database: Database,
  queries: readonly string[],
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  for (const query of queries) {
    await gateway.askAsOperator(query)
    const asks = Array.from({ length: OPERATOR_ROUNDS }, () => () => gateway.askAsOperator(query))
    measured.push(await measure(query, database, asks))
  }
  return measured
}

/** What an export took, from the command's start to its end. */
export interface Exported {
  readonly rows: number
  readonly megabytes: number
  readonly seconds: number
  readonly rowsPerSecond: number
  /** Of the command and of PostgreSQL, for a row. */
  readonly commandUs: number
  readonly postgresUs: number
  readonly peakMb: number
}

/** All totals from `from` to `to` as CSV, by the command line, into a pipe. */
export async function measureExport(
  { pool, url, postgresPid }: Database,
  from: UtcDay,
  to: UtcDay,
): Promise<Exported> {
  const { rows } = await pool.query<{ rows: string }>(
    'select count(*) as rows from tallygate.daily_usage where day between $1 and $2',
    [from, to],
  )
  const count = Number(rows[0]?.rows)
  const taken = await runCommand([...EXPORT.split(' '), '--from', from, '--to', to], {
    tree: process.cwd(),
    databaseUrl: url,
    postgresPid,
  })
  if (taken.exitCode !== 0) throw new Error(`the export failed: ${taken.output}`)
  const exported = {
    rows: count,
    megabytes: taken.bytesOut / 1e6,
    seconds: taken.wallSeconds,
    rowsPerSecond: count / taken.wallSeconds,
    commandUs: (taken.cpuSeconds / count) * 1e6,
    postgresUs: (taken.postgresCpuSeconds / count) * 1e6,
    peakMb: taken.peakMb,
  }
  console.error(`${EXPORT}: ${exported.rowsPerSecond.toFixed(0)} rows/s`)
  return exported
}

async function measure(
  query: string,
  { postgresPid }: Database,
  asks: readonly (() => Promise<Answer>)[],
): Promise<Measured> {
  const before = useOf(postgresPid)
  const answers: Answer[] = []
  for (const ask of asks) answers.push(await ask())
  const spentUs = cpuBetween(before, useOf(postgresPid)) ?? Number.NaN
  const ms = answers.map((answer) => answer.ms).sort((a, b) => a - b)
  const one = {
    query,
    status: Math.max(...answers.map(({ status }) => status)),
    bytes: Math.max(...answers.map(({ bytes }) => bytes)),
    asked: answers.length,
    p50Ms: quantile(ms, 0.5),
    p99Ms: quantile(ms, 0.99),
    postgresMs: spentUs / 1e3 / answers.length,
  }
  console.error(`${query}: ${one.status}, ${one.p50Ms.toFixed(1)} ms, ${one.p99Ms.toFixed(1)} ms`)
  return one
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
