import { type Command, InvalidArgumentError } from 'commander'
import { explainError } from '../../doctor/explain-error.ts'
import { Failure } from '../../operations/failure.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import type { Progress } from '../../operations/ports.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { parseDay } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import {
  BrokenExport,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportPart,
  partialOf,
  readExport,
  writeExport,
} from './export-parts.ts'

const DEFAULT_DAYS = 30

/** `usage export`: daily totals, or single calls as CloudEvents, for other programs; of any number. */
export function addUsageExportCommand(program: Command, cli: Cli): void {
  program
    .command('usage')
    .command('export')
    .description('write usage and cost for other programs')
    .requiredOption('--format <format>', EXPORT_FORMATS.join(', '), parseFormat)
    .option('--from <day>', `first UTC day; without: ${DEFAULT_DAYS} days up to the last`, parseDay)
    .option('--to <day>', 'last UTC day; without: today', parseDay)
    .option('-o, --output <file>', 'into this file; without: stdout')
    .option('--progress', 'say on stderr how far it has come, as on a terminal')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ExportOptions>()
      const { format, output } = options
      const to = options.to ?? utcDayOf(Date.now())
      const from = options.from ?? addDays(to, 1 - DEFAULT_DAYS)
      if (from > to) throw new Failure(`--from ${from} is after --to ${to}`)
      if (output === undefined && cli.wantsJson())
        throw new Failure('--json needs -o: stdout is for the export')
      await cli.withServers(async (servers) => {
        const reports = await servers.reports()
        const clientId = await clientIdOf(reports, options.client)
        const progress = cli.progress('rows', options.progress === true)
        const parts = withProgress(readExport(reports, format, { from, to, clientId }), progress)
        try {
          if (output === undefined) {
            for await (const { text } of parts) if (!(await cli.write(text))) return
            return
          }
          const rows = await writeExport(output, parts)
          const document = { file: output, format, from, to, rows }
          cli.print(document, `${rows} rows from ${from} to ${to} in ${output}.`)
        } catch (error) {
          throw error instanceof BrokenExport ? new Failure(howToGoOn(error, from, output)) : error
        }
      })
    })
}

interface ExportOptions {
  readonly format: ExportFormat
  readonly from?: string
  readonly to?: string
  readonly output?: string
  readonly client?: string
  readonly progress?: boolean
}

function parseFormat(text: string): ExportFormat {
  const format = EXPORT_FORMATS.find((name) => name === text)
  if (format !== undefined) return format
  throw new InvalidArgumentError(`Write one of ${EXPORT_FORMATS.join(', ')}.`)
}

async function clientIdOf(pool: Postgres, name: string | undefined): Promise<string | null> {
  if (name === undefined) return null
  const client = await findClient(pool, name)
  if (client === null) throw new Failure(`there is no client named ${name}`)
  return client.id
}

async function* withProgress(
  parts: AsyncIterable<ExportPart>,
  progress: Progress,
): AsyncGenerator<ExportPart> {
  let rows = 0
  for await (const part of parts) {
    rows += part.rows
    if (part.day !== null) progress.at(part.day, rows)
    yield part
  }
}

/** Days before the one in which it broke need not be read again. */
function howToGoOn({ day, message, cause }: BrokenExport, from: string, output: string | undefined): string {
  const why = `${message}: ${explainError(cause)}`
  if (day <= from) return why
  const last = addDays(day, -1)
  return output === undefined
    ? `${why}. The days up to ${last} were written whole: go on with --from ${day}`
    : `${why}. ${partialOf(output)} has the days up to ${last}: go on with --from ${day} into another file`
}
