import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { jsonLine } from '../../../src/usage/export/export-columns.ts'
import { type ExportScope, readLines } from '../../../src/usage/export/export-rows.ts'

const SCRIPT = fileURLToPath(new URL('./clickhouse.py', import.meta.url))
const EXAMPLES = 'examples/clickhouse'

type Row = Readonly<Record<string, unknown>>

/** A ClickHouse with the tables of `examples/clickhouse`. */
export interface ClickHouse {
  /** As Kafka's table or a file brings them. */
  insert(events: readonly string[]): Promise<void>
  /** Runs check.sql on these days of the ledger. @returns The rows that differ. */
  check(pool: Postgres, days: ExportScope): Promise<readonly Row[]>
  query(statement: string): Promise<readonly Row[]>
  drop(): Promise<void>
}

export async function openClickHouse(): Promise<ClickHouse> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-clickhouse-'))
  const run = (statements: readonly string[]) => runIn(join(folder, 'data'), statements)
  const write = async (lines: readonly string[]) => {
    const file = join(folder, 'lines.jsonl')
    await writeFile(file, lines.map((line) => `${line}\n`).join(''))
    return file
  }
  await run(statementsOf('tables.sql'))
  return {
    async insert(events) {
      const file = await write(events)
      await run([
        `insert into tallygate.events select json from file('${file}', 'JSONAsString', 'json String')`,
      ])
    },
    async check(pool, days) {
      const lines: string[] = []
      for await (const { rows } of readLines(pool, days)) lines.push(...rows.map((row) => jsonLine(row)))
      const file = await write(lines)
      return await run([
        'truncate table tallygate.ledger_days',
        `insert into tallygate.ledger_days select * from file('${file}', 'JSONEachRow', '${ledgerStructure()}')`,
        ...statementsOf('check.sql'),
      ])
    },
    query: (statement) => run([statement]),
    drop: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The columns of `ledger_days`, as the table's definition lists them. */
function ledgerStructure(): string {
  const definition = statementsOf('tables.sql').find((statement) =>
    statement.includes('tallygate.ledger_days'),
  )
  const [, columns = ''] = /ledger_days \(\n([\s\S]*)\n\) engine/.exec(definition ?? '') ?? []
  return columns.replaceAll(/\s+/g, ' ').trim()
}

function statementsOf(file: string): readonly string[] {
  return readFileSync(join(EXAMPLES, file), 'utf8')
    .replaceAll(/^--.*\n/gm, '')
    .split(/;\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

async function runIn(folder: string, statements: readonly string[]): Promise<readonly Row[]> {
  const child = spawn('python3', [SCRIPT, folder], {
    env: { ...process.env, PYTHONPATH: inject('chdb') },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(JSON.stringify(statements))
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on('close', resolve)),
  ])
  if (code !== 0) throw new Error(`ClickHouse: ${err.trim().split('\n').slice(-5).join('\n')}`)
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Row => JSON.parse(line))
}
