import { type Command, InvalidArgumentError } from 'commander'
import { picoToUsdText, renderSummary } from '../../domain/usage-summary.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../store/clients.ts'
import { selectUsageSummary, type UsageGroup, type UsageRow } from '../../store/daily-usage.ts'
import { parseDays } from '../arguments.ts'
import { type Cli, Failure } from '../cli.ts'
import { renderTable } from '../table.ts'

const GROUPS: readonly UsageGroup[] = ['day', 'model', 'key', 'client']

/** `usage`: what was used and what it cost, as `GET /v1/usage` says it. */
export function addUsageCommand(program: Command, cli: Cli): void {
  program
    .command('usage')
    .description('what was used and what it cost')
    .option('--client <name>', 'of this client alone')
    .option('--days <n>', 'UTC days, today and those before', parseDays, 30)
    .option('--by <groups>', `break down by ${GROUPS.join(', ')}; several parted by commas`, parseGroups, [])
    .action(async ({ client, days, by }: UsageOptions) => {
      const name = client ?? null
      const unsorted = await cli.withServers(async ({ pool }) => {
        const found = name === null ? null : await findClient(pool, name)
        if (name !== null && found === null) throw new Failure(`there is no client named ${name}`)
        const toDay = utcDayOf(Date.now())
        const fromDay = addDays(toDay, 1 - days)
        return await selectUsageSummary(pool, { clientId: found?.id ?? null, fromDay, toDay, groupBy: by })
      })
      const rows = unsorted.toSorted((a, b) => compareGroups(a, b, by))
      const documents = rows.map((row) => ({
        ...groupFields(row, by),
        ...renderSummary(by.includes('client') ? row.clientName : name, days, row),
      }))
      cli.print(by.length === 0 ? documents[0] : documents, table(rows, by))
    })
}

interface UsageOptions {
  readonly client?: string
  readonly days: number
  readonly by: readonly UsageGroup[]
}

function parseGroups(text: string): readonly UsageGroup[] {
  const groups = text.split(',').map((word) => GROUPS.find((group) => group === word.trim()))
  const known = groups.filter((group) => group !== undefined)
  if (known.length === groups.length) return [...new Set(known)]
  throw new InvalidArgumentError(`Write ${GROUPS.join(', ')}, or several of them parted by commas.`)
}

function groupFields(row: UsageRow, by: readonly UsageGroup[]): Readonly<Record<string, string | null>> {
  return {
    ...(by.includes('day') ? { day: row.day } : {}),
    ...(by.includes('model') ? { model: row.model } : {}),
    ...(by.includes('key') ? { key_id: row.keyId, key_name: row.keyName } : {}),
  }
}

const GROUP_CELLS: Readonly<Record<UsageGroup, (row: UsageRow) => string>> = {
  day: ({ day }) => day ?? '',
  model: ({ model }) => model ?? '',
  key: ({ keyId, keyName }) => keyName ?? keyId ?? '',
  client: ({ clientName, clientId }) => clientName ?? clientId ?? '',
}

/** By the names that people read, as ids have no order that means anything. */
function compareGroups(a: UsageRow, b: UsageRow, by: readonly UsageGroup[]): number {
  for (const group of by) {
    const [nameOfA, nameOfB] = [GROUP_CELLS[group](a), GROUP_CELLS[group](b)]
    if (nameOfA !== nameOfB) return nameOfA < nameOfB ? -1 : 1
  }
  return 0
}

/** Figures that say how far to trust the others have a column only where there is something to say. */
const FIGURES: readonly {
  heading: string
  cell: (row: UsageRow) => string
  onlyIf?: (row: UsageRow) => bigint
}[] = [
  { heading: 'REQUESTS', cell: ({ requests }) => `${requests}` },
  { heading: 'ERRORS', cell: ({ errors }) => `${errors}`, onlyIf: ({ errors }) => errors },
  { heading: 'INPUT', cell: ({ inputTokens }) => `${inputTokens}` },
  { heading: 'OUTPUT', cell: ({ outputTokens }) => `${outputTokens}` },
  { heading: 'TOTAL', cell: ({ inputTokens, outputTokens }) => `${inputTokens + outputTokens}` },
  { heading: 'ESTIMATED', cell: ({ estimated }) => `${estimated}`, onlyIf: ({ estimated }) => estimated },
  { heading: 'UNPRICED', cell: ({ unpriced }) => `${unpriced}`, onlyIf: ({ unpriced }) => unpriced },
  { heading: 'AVG MS', cell: (row) => renderSummary(null, 0, row).avg_latency_ms.toFixed(0) },
  { heading: 'COST USD', cell: ({ costPico }) => picoToUsdText(costPico) },
]

function table(rows: readonly UsageRow[], by: readonly UsageGroup[]): string {
  if (rows.length === 0) return 'Nothing was used.'
  const figures = FIGURES.filter(({ onlyIf }) => onlyIf === undefined || rows.some((row) => onlyIf(row) > 0n))
  return renderTable(
    [
      ...by.map((group) => ({ heading: group.toUpperCase() })),
      ...figures.map(({ heading }) => ({ heading, align: 'right' as const })),
    ],
    rows.map((row) => [
      ...by.map((group) => GROUP_CELLS[group](row)),
      ...figures.map(({ cell }) => cell(row)),
    ]),
  )
}
