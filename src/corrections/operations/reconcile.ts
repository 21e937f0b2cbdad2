import { z } from 'zod'
import { periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import {
  shownChoice,
  shownCountOrNull,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { choiceField, daysField, textField } from '../../operations/fields.ts'
import { type Chapter, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import { selectModelDays } from '../../usage/reconciled-use.ts'
import type { ReporterName } from '../reconcile/fetch-report.ts'
import { addFigures, differenceOf, type Figures, type ReconciledDay, reconcile } from '../reconcile/report.ts'

export interface ReconcilePorts extends Ports {
  /** The key of an organization's admin, by the name of its variable; `null`: it is not set. */
  findAdminKey(name: string): string | null
}

const REPORTER_NAMES = ['openai', 'anthropic'] as const satisfies readonly ReporterName[]

/** Both sides, of so many UTC days. */
interface Reconciliation {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly rows: readonly ReconciledDay[]
}

const SIDE = z
  .strictObject({
    requests: shownCountOrNull('null: this side does not say.'),
    input_tokens: shownCountOrNull('Cached ones included.'),
    output_tokens: shownCountOrNull('Reasoning included.'),
    cost_usd: shownTextOrNull('US dollars as decimal text.'),
  })
  .nullable()
const DIFFERENCE = z.strictObject({
  requests: z.number().nullable(),
  input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  cost_usd: shownTextOrNull('US dollars as decimal text.'),
})

const reconcileOperation = renderedOperation({
  name: 'reconcile',
  summary: "Holds our figures against the provider's own report.",
  role: 'read',
  http: { method: 'GET', path: '/reconcile', id: 'reconcile', without: ['base_url'] },
  input: {
    provider: choiceField(REPORTER_NAMES, 'Whose report.', 'name'),
    days: daysField(7),
    upstream: textField('Only what went by this upstream of ours.', 'name').optional(),
    base_url: z
      .string('must be a text')
      .refine(
        (text) => URL.canParse(text) && /^https?:\/\//.test(text),
        'must be a URL such as https://api.openai.com',
      )
      .meta({ description: 'Where the report is asked for.', [VALUE]: 'url' })
      .optional(),
  },
  answer: shownDocument('Reconciliation', {
    provider: shownChoice(REPORTER_NAMES, 'Whose report.'),
    from: shownDay('The first UTC day.'),
    to: shownDay('The last UTC day, which is not over.'),
    rows: shownList(
      z.strictObject({
        day: shownDay('A UTC day.'),
        model: shownText('The model; of what is billed apart from models, what the bill calls it.'),
        theirs: SIDE.describe('null: they know nothing of it.'),
        ours: SIDE.describe('null: we know nothing of it.'),
        difference: DIFFERENCE.nullable().describe('Ours less theirs.'),
      }),
    ),
    total: z.strictObject({ theirs: SIDE, ours: SIDE, difference: DIFFERENCE.nullable() }),
  }),
  gives: 'Both sides, by day and model.',
  errors: ['conflict'],
  isLong: true,
  async run(
    { read, now, findAdminKey }: ReconcilePorts,
    { provider, days, upstream = null, base_url: baseUrl },
  ) {
    const keyName = `${provider.toUpperCase()}_ADMIN_KEY`
    const adminKey = findAdminKey(keyName)
    if (adminKey === null)
      throw conflict(`The variable ${keyName} is not set: an admin key of the organization.`)
    const { fromDay: from, toDay: to } = periodOf(days, now())
    const ours = await read((pool) => selectModelDays(pool, { provider, upstream, from, to }))
    const { fetchReport } = await import('../reconcile/fetch-report.ts') // a gateway starts without it
    const theirs = await fetchReport(provider, baseUrl, adminKey, from, to)
    return { from, to, rows: reconcile(theirs, ours) }
  },
  render: ({ from, to, rows }: Reconciliation, { provider }) => reconciliation(provider, from, to, rows),
  command: { words: 'reconcile', print: ({ from, to, rows }) => text(rows, from, to) },
})

export const RECONCILE_CHAPTER: Chapter<ReconcilePorts> = {
  words: 'reconcile',
  about: "Our figures, held against the provider's own report.",
  operations: [reconcileOperation],
}

function reconciliation(provider: ReporterName, from: UtcDay, to: UtcDay, rows: readonly ReconciledDay[]) {
  return {
    provider,
    from,
    to,
    rows: rows.map((row) => ({
      day: row.day,
      model: row.model,
      theirs: figures(row.theirs),
      ours: figures(row.ours),
      difference: figures(differenceOf(row)),
    })),
    total: {
      theirs: figures(sum(rows.flatMap(({ theirs }) => theirs ?? []))),
      ours: figures(sum(rows.flatMap(({ ours }) => ours ?? []))),
      difference: figures(sum(rows.map(differenceOf))),
    },
  }
}

function sum(all: readonly Figures[]): Figures | null {
  return all.length === 0 ? null : all.reduce(addFigures)
}

function figures(side: Figures | null) {
  if (side === null) return null
  return {
    requests: numberOf(side.requests),
    input_tokens: numberOf(side.inputTokens),
    output_tokens: numberOf(side.outputTokens),
    cost_usd: side.costPico === null ? null : picoToUsdText(side.costPico),
  }
}

function numberOf(count: bigint | null): number | null {
  return count === null ? null : Number(count)
}

const COLUMNS = [
  ['REQUESTS', ({ requests }) => countText(requests)],
  ['INPUT', ({ inputTokens }) => countText(inputTokens)],
  ['OUTPUT', ({ outputTokens }) => countText(outputTokens)],
  ['COST USD', ({ costPico }) => (costPico === null ? '?' : picoToUsdText(costPico))],
] as const satisfies readonly (readonly [string, (side: Figures) => string])[]

/** Three lines for each day and model: theirs, ours, and ours less theirs. */
function text(rows: readonly ReconciledDay[], from: UtcDay, to: UtcDay): string {
  if (rows.length === 0) return `Neither side knows of any usage from ${from} to ${to}.`
  const table = renderTable(
    [
      { heading: 'DAY' },
      { heading: 'MODEL' },
      { heading: '' },
      ...COLUMNS.map(([heading]) => ({ heading, align: 'right' as const })),
    ],
    rows.flatMap((row) => [
      [row.day, row.model, 'theirs', ...cells(row.theirs)],
      ['', '', 'ours', ...cells(row.ours)],
      ['', '', 'difference', ...cells(differenceOf(row))],
    ]),
  )
  return `${table}\n\nToday is not over, and reports come late: its figures differ until they have.`
}

function cells(side: Figures | null): string[] {
  return COLUMNS.map(([, cell]) => (side === null ? '-' : cell(side)))
}

function countText(count: bigint | null): string {
  return count === null ? '?' : `${count}`
}
