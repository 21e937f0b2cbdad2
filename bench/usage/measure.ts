import type { UtcDay } from '../../src/domain/utc-day.ts'
import { summarise } from '../../src/usage/summaries/summarise.ts'
import { runCommand } from '../long/run-command.ts'
import { quantile } from '../stand/figures.ts'
import { cpuBetween, useOf } from '../stand/proc.ts'
import type { Stand, StandGateway } from '../stand/stand.ts'
import { EXPORT } from './queries.ts'

export type Database = Pick<Stand, 'pool' | 'postgres'>

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

export async function sumUp({ pool, postgres: { pid } }: Database): Promise<Summing> {
  const startedMs = performance.now()
  const before = useOf(pid)
  const { days, months, failed, isDone } = await summarise(pool, Number.POSITIVE_INFINITY)
  const postgresUs = cpuBetween(before, useOf(pid)) ?? Number.NaN
  const seconds = (performance.now() - startedMs) / 1e3
  if (!isDone) throw new Error(`not all is summed up: ${failed[0]?.error.message}`)
  if (days.length > 0) await pool.query('vacuum analyze')
  return { days: days.length, months: months.length, seconds, postgresSeconds: postgresUs / 1e6 }
}

const OPERATOR_ROUNDS = 3

/** Each query by each client, one after the other: first once, to fill caches, then measured. */
export async function measureClients(
  { url }: StandGateway,
  database: Database,
  keys: readonly string[],
  queries: readonly string[],
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  for (const query of queries) {
    const asks = keys.map((key) => () => ask(`${url}${query}`, key))
    for (const one of asks) await one()
    measured.push(await measure(query, database, asks))
  }
  return measured
}

export async function measureOperator(
  { adminUrl }: StandGateway,
  database: Database,
  token: string,
  queries: readonly string[],
): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  for (const query of queries) {
    const one = () => ask(`${adminUrl}/admin/v1/${query}`, token)
    await one()
    measured.push(
      await measure(
        query,
        database,
        Array.from({ length: OPERATOR_ROUNDS }, () => one),
      ),
    )
  }
  return measured
}

interface Answer {
  readonly status: number
  readonly bytes: number
  readonly ms: number
}

async function ask(url: string, token: string): Promise<Answer> {
  const startedMs = performance.now()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const { byteLength } = await response.arrayBuffer()
  return { status: response.status, bytes: byteLength, ms: performance.now() - startedMs }
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
  { pool, postgres }: Database,
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
    databaseUrl: postgres.url,
    postgresPid: postgres.pid,
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
  { postgres: { pid } }: Database,
  asks: readonly (() => Promise<Answer>)[],
): Promise<Measured> {
  const before = useOf(pid)
  const answers: Answer[] = []
  for (const ask of asks) answers.push(await ask())
  const spentUs = cpuBetween(before, useOf(pid)) ?? Number.NaN
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
