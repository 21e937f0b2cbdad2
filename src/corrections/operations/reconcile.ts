import { z } from 'zod'
import { periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import {
  shownChoice,
  shownCount,
  shownCountOrNull,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { choiceField, daysField, monthField, textField } from '../../operations/fields.ts'
import { type Chapter, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import { selectModelDays } from '../../usage/reconciled-use.ts'
import { adminKeyName } from '../invoices/cost-reports.ts'
import { BILLER_NAMES, type Biller } from '../invoices/invoice-row.ts'
import {
  DIFFERENCE_REASONS,
  DIFFERENCES,
  type DifferenceSum,
  isTooMuch,
  sizeOf,
} from '../invoices/match/differences.ts'
import type { MatchedMonth } from '../invoices/match/match-month.ts'
import type { ReporterName } from '../reconcile/fetch-report.ts'
import { addFigures, differenceOf, type Figures, type ReconciledDay, reconcile } from '../reconcile/report.ts'

export interface ReconcilePorts extends Ports {
  /** The key of an organization's admin, by the name of its variable; `null`: it is not set. */
  findAdminKey(name: string): string | null
}

const REPORTER_NAMES = ['openai', 'anthropic'] as const satisfies readonly ReporterName[]

/** A provider's address, in place of its own. */
export function baseUrlField() {
  return z
    .string('must be a text')
    .refine(
      (text) => URL.canParse(text) && /^https?:\/\//.test(text),
      'must be a URL such as https://api.openai.com',
    )
    .meta({ description: 'Where the report is asked for.', [VALUE]: 'url' })
}

/** Both sides, of so many UTC days. */
interface Reconciliation {
  readonly from: UtcDay
  readonly to: UtcDay
  readonly rows: readonly ReconciledDay[]
  /** `null`: the provider's report of these days was asked for. */
  readonly invoice: MatchedMonth | null
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

const INVOICE = z
  .strictObject({
    ours_usd: shownText('What we counted, by contracts, with what is charged of the invoice beside calls.'),
    invoice_usd: shownText('What the invoice says of the same days.'),
    difference_usd: shownText('The invoice less ours.'),
    unexplained_usd: shownText('What nothing explains, without signs.'),
    differences: shownList(
      z.strictObject({
        class: shownChoice(DIFFERENCE_REASONS, 'Why.'),
        model: shownText('The model; of what is for none, what the invoice calls it.'),
        remark: shownText('What is known beside it.'),
        from: shownDay('The first day of it.'),
        to: shownDay('The last one.'),
        days: shownCount('On so many days.'),
        amount_usd: shownText('The invoice less ours.'),
        gross_usd: shownText('The same without signs: what moved between days adds up to nothing.'),
        repair: shownText('What to do about it.'),
      }),
      'The largest first. Their amounts add up to the difference.',
    ),
  })
  .nullable()

export const reconcileOperation = renderedOperation({
  name: 'reconcile',
  summary: "Holds our figures against the provider's own report, or against its invoice of a month.",
  description:
    'With a month: the imported invoice, each difference with its class and what would repair it. Without: the report is asked for, with an admin key.',
  role: 'read',
  http: { method: 'GET', path: '/reconcile', id: 'reconcile', without: ['base_url'] },
  input: {
    provider: choiceField(BILLER_NAMES, 'Whose report, or whose invoice.', 'name'),
    month: monthField('The imported invoice of this month, YYYY-MM.').optional(),
    days: daysField(7),
    upstream: textField('Only what went by this upstream of ours.', 'name').optional(),
    base_url: baseUrlField().optional(),
  },
  answer: shownDocument('Reconciliation', {
    provider: shownChoice(BILLER_NAMES, 'Whose report, or whose invoice.'),
    from: shownDay('The first UTC day.'),
    to: shownDay('The last UTC day. Of a report it is not over.'),
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
    invoice: INVOICE.describe('null: no month was asked for.'),
  }),
  gives: 'Both sides, by day and model.',
  errors: ['conflict', 'not_found'],
  isLong: true,
  async run(
    { pool, read, now, findAdminKey }: ReconcilePorts,
    { provider, month, days, upstream = null, base_url: baseUrl },
  ) {
    if (month !== undefined) {
      const { matchMonth } = await import('../invoices/match/match-month.ts') // a gateway starts without it
      const invoice = await matchMonth(pool, provider, month)
      if (invoice === null)
        throw notFound(
          `No invoice of ${provider} covers a day of ${month}.`,
          'month',
          'invoice list shows them',
        )
      return { from: invoice.from, to: invoice.to, rows: invoice.rows, invoice }
    }
    if (!isReporter(provider)) throw invalid('month', 'is missing: only openai and anthropic can be asked')
    const keyName = adminKeyName(provider)
    const adminKey = findAdminKey(keyName)
    if (adminKey === null)
      throw conflict(`The variable ${keyName} is not set: an admin key of the organization.`)
    const { fromDay: from, toDay: to } = periodOf(days, now())
    const ours = await read((pool) => selectModelDays(pool, { provider, upstream, from, to }))
    const { fetchReport } = await import('../reconcile/fetch-report.ts') // a gateway starts without it
    const theirs = await fetchReport(provider, baseUrl, adminKey, from, to)
    return { from, to, rows: reconcile(theirs, ours), invoice: null }
  },
  render: (found: Reconciliation, { provider }) => reconciliation(provider, found),
  command: {
    words: 'reconcile',
    print: ({ from, to, rows, invoice }) => (invoice === null ? text(rows, from, to) : invoiceText(invoice)),
    exitCode: ({ invoice }) => (invoice !== null && isTooMuch(invoice) ? 1 : 0),
  },
})

function isReporter(name: string): name is ReporterName {
  return (REPORTER_NAMES as readonly string[]).includes(name)
}

export const RECONCILE_CHAPTER: Chapter<ReconcilePorts> = {
  words: 'reconcile',
  about: "Our figures, held against the provider's own report.",
  operations: [reconcileOperation],
}

function reconciliation(provider: Biller, { from, to, rows, invoice }: Reconciliation) {
  return {
    invoice: invoice === null ? null : renderInvoice(invoice),
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

function renderInvoice({ oursPico, invoicedPico, unexplainedPico, differences }: MatchedMonth) {
  return {
    ours_usd: picoToUsdText(oursPico),
    invoice_usd: picoToUsdText(invoicedPico),
    difference_usd: picoToUsdText(invoicedPico - oursPico),
    unexplained_usd: picoToUsdText(unexplainedPico),
    differences: differences.map(({ amountPico, grossPico, ...one }) => ({
      ...{
        class: one.class,
        model: one.model,
        remark: one.remark,
        from: one.from,
        to: one.to,
        days: one.days,
      },
      ...{ amount_usd: picoToUsdText(amountPico), gross_usd: picoToUsdText(grossPico) },
      repair: DIFFERENCES[one.class],
    })),
  }
}

/** One sentence, each difference, and what to do about those of its class. */
function invoiceText(invoice: MatchedMonth): string {
  const { biller, month, from, to, oursPico, invoicedPico, differences } = invoice
  const classes = DIFFERENCE_REASONS.filter((name) => differences.some((one) => one.class === name))
  const said = classes.map((name) => {
    const pico = sumOf(differences.filter((one) => one.class === name))
    return `${centsText(pico)} ${name.replace('_', ' ')}`
  })
  const days = from === `${month}-01` ? `to ${to}` : `${from} to ${to}`
  const sentence = `${biller}, ${month} (${days}): ours ${centsText(oursPico)}, invoice ${centsText(invoicedPico)}, difference ${centsText(invoicedPico - oursPico)}`
  if (classes.length === 0) return `${sentence}: nothing differs.`
  const table = renderTable(
    [
      ...['CLASS', 'MODEL', 'REMARK', 'DAYS'].map((heading) => ({ heading })),
      ...['AMOUNT USD', 'WITHOUT SIGNS'].map((heading) => ({ heading, align: 'right' as const })),
    ],
    differences.map((one) => [
      ...[one.class.replace('_', ' '), one.model, one.remark],
      one.from === one.to ? one.from : `${one.from} to ${one.to}`,
      ...[picoToUsdText(one.amountPico), picoToUsdText(one.grossPico)],
    ]),
  )
  const repairs = classes.map((name) => `${name.replace('_', ' ')}: ${DIFFERENCES[name]}.`)
  return `${sentence}: ${said.join(', ')}.\n\n${table}\n\n${repairs.join('\n')}`
}

function sumOf(differences: readonly DifferenceSum[]): bigint {
  return differences.reduce((sum, { amountPico }) => sum + amountPico, 0n)
}

/** As invoices write amounts: `41,207.13`, halves away from zero. */
function centsText(pico: bigint): string {
  const cents = (sizeOf(pico) + PICO_PER_CENT / 2n) / PICO_PER_CENT
  const dollars = `${cents / 100n}`.replace(/\B(?=(?:[0-9]{3})+$)/g, ',')
  return `${pico < 0n && cents > 0n ? '-' : ''}${dollars}.${`${cents % 100n}`.padStart(2, '0')}`
}

const PICO_PER_CENT = 10_000_000_000n

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
