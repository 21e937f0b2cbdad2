import { tableOf, writeResults } from '../stand/results.ts'
import type { Testbed } from '../stand/testbed.ts'
import type { Filled } from './fill.ts'
import type { Exported, Measured, Summing } from './measure.ts'
import { EXPORT } from './queries.ts'

/** All that a run found. */
export interface UsageResults {
  readonly testbed: Testbed
  readonly filled: Filled
  readonly summing: Summing
  readonly clients: readonly Measured[]
  readonly operator: readonly Measured[]
  /** `null`: not measured. */
  readonly exported: Exported | null
}

/** Prints the results, and writes `usage.json` and `usage.md` into the folder, if there is one. */
export function writeUsage(folder: string | null, results: UsageResults): void {
  const text = render(results)
  console.log(text)
  if (folder !== null) writeResults(folder, 'usage', `${text}\n`, results)
}

function render({ testbed, filled, summing, clients, operator, exported }: UsageResults): string {
  const { cpu, cores, memoryGb, node, date, commit, loadBefore } = testbed
  return [
    '# What queries about usage cost',
    '',
    'Written by `npm run bench:usage`; docs/benchmarks.md has the method. Each query once to fill caches, then',
    'measured, one after the other.',
    '',
    `- ${cpu}, ${cores} cores, ${memoryGb} GB; Node ${node}; ${date} UTC, commit ${commit}, load ${loadBefore}`,
    `- ${filled.rows} rows of daily_usage: ${filled.clients} clients, ${filled.days} days; ${filled.calls} calls`,
    `- bytes: ${Object.entries(filled.bytes)
      .map(([table, bytes]) => `${table} ${(bytes / 1e6).toFixed(0)} MB`)
      .join(', ')}`,
    `- summed up now: ${summing.days} days, ${summing.months} months in ${summing.seconds.toFixed(0)} s, ` +
      `${summing.postgresSeconds.toFixed(0)} s of PostgreSQL's CPU`,
    '',
    '## `GET /v1/usage`, each of an idle client',
    '',
    ...renderTable(clients),
    '',
    '## The operator, below `/admin/v1/`',
    '',
    ...renderTable(operator),
    ...(exported === null ? [] : renderExport(exported)),
  ].join('\n')
}

function renderTable(rows: readonly Measured[]): readonly string[] {
  return tableOf(
    ['', 'status', 'p50 ms', 'p99 ms', 'PostgreSQL CPU ms', 'bytes'],
    rows.map(({ query, status, p50Ms, p99Ms, postgresMs, bytes }) => [
      `\`${query}\``,
      status,
      ...[p50Ms, p99Ms, postgresMs].map((ms) => ms.toFixed(1)),
      bytes,
    ]),
  )
}

function renderExport(exported: Exported): readonly string[] {
  const { rows, megabytes, seconds, rowsPerSecond, commandUs, postgresUs, peakMb } = exported
  return [
    '',
    `## \`${EXPORT}\``,
    '',
    `${rows} rows, ${megabytes.toFixed(0)} MB in ${seconds.toFixed(0)} s: ${rowsPerSecond.toFixed(0)} rows/s; ` +
      `${commandUs.toFixed(1)} us of the command's CPU a row, ${postgresUs.toFixed(1)} us of PostgreSQL's, ` +
      `${peakMb.toFixed(0)} MB resident at most`,
  ]
}
