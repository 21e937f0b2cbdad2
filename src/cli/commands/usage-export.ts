import { open, rename, rm } from 'node:fs/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { Failure } from '../../doctor/failure.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectCallDays } from '../../usage/calls/call-partitions.ts'
import { cloudEvent } from '../../usage/export/export-cloudevents.ts'
import { jsonLine } from '../../usage/export/export-columns.ts'
import { CSV_HEADER, csvRow } from '../../usage/export/export-csv.ts'
import { FOCUS_HEADER, focusRows } from '../../usage/export/export-focus.ts'
import { type ExportScope, readCalls, readDays, selectUsedDays } from '../../usage/export/export-rows.ts'
import { parseDay } from '../arguments.ts'
import type { Cli } from '../cli.ts'

const FORMATS = ['csv', 'jsonl', 'focus', 'cloudevents'] as const
type Format = (typeof FORMATS)[number]

const DEFAULT_DAYS = 30

/** `usage export`: daily totals, or single calls as CloudEvents, for other programs; of any number. */
export function addUsageExportCommand(program: Command, cli: Cli): void {
  const usage = program.commands.find((command) => command.name() === 'usage')
  if (usage === undefined) throw new Error('the command usage must be there before usage export')
  usage
    .command('export')
    .description('write usage and cost for other programs')
    .requiredOption('--format <format>', FORMATS.join(', '), parseFormat)
    .option('--from <day>', `first UTC day; without: ${DEFAULT_DAYS} days up to the last`, parseDay)
    .option('--to <day>', 'last UTC day; without: today', parseDay)
    .option('-o, --output <file>', 'into this file; without: stdout')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>()
      const { format, output } = options
      const to = options.to ?? utcDayOf(Date.now())
      const from = options.from ?? addDays(to, 1 - DEFAULT_DAYS)
      if (from > to) throw new Failure(`--from ${from} is after --to ${to}`)
      if (output === undefined && cli.wantsJson())
        throw new Failure('--json needs -o: stdout is for the export')
      await cli.withServers(async ({ pool }) => {
        const clientId = await clientIdOf(pool, options.client)
        const parts = readParts(pool, format, { from, to, clientId })
        if (output === undefined) {
          for await (const { text } of parts) if (!(await cli.write(text))) return
          return
        }
        const rows = await writeFile(output, parts)
        const document = { file: output, format, from, to, rows }
        cli.print(document, `${rows} rows from ${from} to ${to} in ${output}.`)
      })
    })
}

interface ExportOptions {
  readonly format: Format
  readonly from?: string
  readonly to?: string
  readonly output?: string
  readonly client?: string
}

function parseFormat(text: string): Format {
  const format = FORMATS.find((name) => name === text)
  if (format !== undefined) return format
  throw new InvalidArgumentError(`Write one of ${FORMATS.join(', ')}.`)
}

async function clientIdOf(pool: Postgres, name: string | undefined): Promise<string | null> {
  if (name === undefined) return null
  const client = await findClient(pool, name)
  if (client === null) throw new Failure(`there is no client named ${name}`)
  return client.id
}

/** A chunk of the export: whole lines, and their number of rows. */
interface Part {
  readonly text: string
  readonly rows: number
}

async function* readParts(pool: Postgres, format: Format, scope: ExportScope): AsyncGenerator<Part> {
  if (format === 'cloudevents') {
    await requireCalls(pool, scope)
    for await (const calls of readCalls(pool, scope)) {
      yield { text: calls.map((call) => `${cloudEvent(call)}\n`).join(''), rows: calls.length }
    }
    return
  }
  const { header, line } = LINES[format]
  if (header !== '') yield { text: header, rows: 0 }
  for await (const days of readDays(pool, scope)) yield { text: days.map(line).join(''), rows: days.length }
}

const LINES = {
  csv: { header: CSV_HEADER, line: csvRow },
  jsonl: { header: '', line: (row: Parameters<typeof jsonLine>[0]) => `${jsonLine(row)}\n` },
  focus: { header: FOCUS_HEADER, line: focusRows },
} as const

/** Without this check, days whose single calls were deleted would be absent silently. */
async function requireCalls(pool: Postgres, { from, to }: ExportScope): Promise<void> {
  const kept = await selectCallDays(pool)
  const gone = (await selectUsedDays(pool, { from, to })).filter((day) => !kept.has(day))
  if (gone.length === 0) return
  throw new Failure(
    `the single calls of ${gone.length} of these days are not kept, the last one ${gone.at(-1)}`,
  )
}

/**
 * Renamed to its final name only when complete.
 * @returns Its number of rows.
 */
async function writeFile(file: string, parts: AsyncIterable<Part>): Promise<number> {
  const unfinished = `${file}.partial`
  let rows = 0
  try {
    const handle = await open(unfinished, 'w')
    try {
      for await (const part of parts) {
        await handle.appendFile(part.text)
        rows += part.rows
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  return rows
}
