import { basename } from 'node:path'
import { z } from 'zod'
import { type Decimal, parseDecimal } from '#prices/decimal.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import {
  shownChoice,
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
} from '../../operations/answers.ts'
import { choiceField, daysField, flagField, nameField, textField } from '../../operations/fields.ts'
import { type Chapter, operation, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import { adminKeyName, COST_REPORTERS } from '../invoices/cost-reports.ts'
import { FORMAT_NAMES, FORMATS, findFormat } from '../invoices/formats/formats.ts'
import type { ImportedInvoice } from '../invoices/import-invoice.ts'
import { BILLER_NAMES, INVOICE_KINDS } from '../invoices/invoice-row.ts'
import { type InvoiceImport, removeImport, selectImports } from '../invoices/invoices-table.ts'
import { matchInvoices } from '../invoices/match/matches-table.ts'
import { baseUrlField, type ReconcilePorts } from './reconcile.ts'

const MOST_BODY_BYTES = 16 * 1024 * 1024
const RATE = /^([A-Za-z]{3})=([0-9]{1,12}(?:\.[0-9]{1,12})?)$/
const RATE_RULE = 'must be rates such as EUR=1.0834, with commas between'

const IMPORT = {
  id: shownText('The id of the import, which begins with inv_.'),
  source: shownText('A later import of the same source replaces its days.'),
  format: shownChoice(FORMAT_NAMES, 'How it was written.'),
  origin: shownText('What it was read from.'),
  providers: shownList(shownChoice(BILLER_NAMES, 'Who sent it.')),
  from: shownDay('The first UTC day that it covers.'),
  to: shownDay('The last one.'),
}

const SHOWN_IMPORT = shownDocument('InvoiceImport', {
  ...IMPORT,
  rows: shownCount('Rows that are kept of it: those that say the same of a day are one.'),
  imported_at: shownMoment('When it was taken.'),
})

function renderOrigin({ id, source, format, origin, billers, from, to }: ImportedInvoice | InvoiceImport) {
  return { id, source, format, origin, providers: billers, from, to }
}

function renderImport(found: InvoiceImport): z.output<typeof SHOWN_IMPORT> {
  return { ...renderOrigin(found), rows: Number(found.rows), imported_at: found.importedAt.toISOString() }
}

const IMPORTED = shownDocument('ImportedInvoice', {
  ...IMPORT,
  rows_read: shownCount('Rows that were taken.'),
  rows_passed_over: shownCount('Rows that are not about models, or of days that were not asked for.'),
  rows_replaced: shownCount('Kept rows of imports before that these replace.'),
  sums: shownList(
    z.strictObject({
      kind: shownChoice(INVOICE_KINDS, 'What it is for.'),
      amount_usd: shownText('US dollars.'),
    }),
  ),
  charges_set: shownCount('Charges that these days have now by this source; 0 without as_charges.'),
  charges_left: shownList(shownText('A name.'), 'Charges that stay as they were: they are shared out.'),
})

function renderImported(imported: ImportedInvoice): z.output<typeof IMPORTED> {
  return {
    ...renderOrigin(imported),
    rows_read: imported.rows,
    rows_passed_over: imported.passedOver,
    rows_replaced: imported.replaced,
    sums: [...imported.sums].map(([kind, pico]) => ({ kind, amount_usd: picoToUsdText(pico) })),
    charges_set: imported.charged?.set ?? 0,
    charges_left: [...(imported.charged?.left ?? [])],
  }
}

const CHANGED = { event: 'admin.invoice_changed' } as const

const importOperation = renderedOperation({
  name: 'invoices.import',
  summary: "Takes a provider's own report or invoice, in place of what was taken of its days before.",
  description: `Formats: ${FORMATS.map(({ name, title }) => `${name} (${title})`).join(', ')}. It is taken whole or not at all. Rows of clouds that are not about models are passed over.`,
  role: 'admin',
  http: {
    method: 'POST',
    path: '/invoices',
    id: 'importInvoice',
    body: 'NewInvoice',
    bodyLimitBytes: MOST_BODY_BYTES,
    without: ['file'],
  },
  input: {
    file: textField('The file, packed by gzip or not.', 'file').optional(),
    text: z.string('must be a text').describe('The file. A larger one is for the command line.').optional(),
    format: choiceField(
      FORMAT_NAMES,
      'How it is written. Without it: as its columns say.',
      'name',
    ).optional(),
    provider: choiceField(BILLER_NAMES, 'Who sent it, where a FOCUS file does not say.', 'name').optional(),
    source: nameField(
      'Keeps it beside others of its format: of another account, or another part. Without it: the format.',
    ).optional(),
    rates: z
      .array(z.string(RATE_RULE).regex(RATE, RATE_RULE), RATE_RULE)
      .max(50, RATE_RULE)
      .meta({ description: 'US dollars for one of another currency: EUR=1.0834.', [VALUE]: 'rates' })
      .optional(),
    as_charges: flagField('Purchases, commitments, credits and taxes become charges, too.').default(false),
    upstream: textField('Where its commitments hold. Without it they are purchases.', 'name').optional(),
    dry_run: flagField('Only says what is in it.').default(false),
  },
  check({ file, text, upstream, as_charges: asCharges }) {
    if ((file === undefined) === (text === undefined)) throw invalid('text', 'must be given, and no file')
    if (upstream !== undefined && !asCharges) throw invalid('upstream', 'applies only with as_charges')
  },
  answer: IMPORTED,
  gives: 'What was taken.',
  errors: ['conflict'],
  isLong: true,
  async run({ pool, progress }: Ports, { file, text, format, source, dry_run: isDry, ...asked }) {
    const { provider = null, upstream = null, as_charges: asCharges } = asked
    const { importInvoice, InvoiceRefused } = await import('../invoices/import-invoice.ts') // a gateway starts without it
    const { openInvoiceFile } = await import('../invoices/read-records.ts')
    const found = file === undefined ? (text ?? '') : await openInvoiceFile(file)
    const order = {
      text: found,
      format: format === undefined ? null : findFormat(format),
      source: source ?? null,
      origin: file === undefined ? 'HTTP' : basename(file),
      biller: provider,
      rates: ratesOf(asked.rates ?? []),
      days: null,
      asCharges: asCharges ? { upstream } : null,
      isDry,
    }
    try {
      const imported = await importInvoice(pool, order, progress('rows'))
      if (!isDry) await matchInvoices(pool, null)
      return imported
    } catch (error) {
      throw error instanceof InvoiceRefused
        ? invalid(file === undefined ? 'text' : 'file', error.message)
        : error
    }
  },
  render: renderImported,
  changes: { ...CHANGED, says: 'an invoice was imported', log: ({ id }) => ({ import: id }) },
  command: { words: 'invoice import', options: { file: '<file>', text: null }, print: importedText },
})

function ratesOf(written: readonly string[]): ReadonlyMap<string, Decimal> {
  return new Map(
    written.flatMap((one) => {
      const [, currency = '', usd = ''] = RATE.exec(one) ?? []
      const rate = parseDecimal(usd)
      return rate === null ? [] : [[currency.toUpperCase(), rate] as const]
    }),
  )
}

function importedText(imported: ImportedInvoice, { dry_run: isDry }: { readonly dry_run: boolean }): string {
  const { format, billers, from, to, rows, passedOver, replaced, sums, charged, id } = imported
  const amounts = [...sums].map(([kind, pico]) => `${kind} ${picoToUsdText(pico)} USD`).join(', ')
  return [
    `${format} of ${billers.join(', ')}, ${from} to ${to}: ${rows} rows, ${amounts}.`,
    ...(passedOver === 0
      ? []
      : [`${passedOver} rows are not about models, or of other days, and were passed over.`]),
    ...(replaced === 0 ? [] : [`It replaces ${replaced} kept rows of these days.`]),
    ...(charged === null ? [] : [`${charged.set} charges of these days are by it.`]),
    ...(charged ?? { left: [] }).left.map((name) => `${name} is shared out, and stays as it was.`),
    isDry ? 'Nothing is written.' : `Taken as ${id}.`,
  ].join('\n')
}

const fetchOperation = renderedOperation({
  name: 'invoices.fetch',
  summary: "Fetches a provider's own report of costs with an admin key, and takes it as an invoice.",
  description: 'Workers that have the key do the same once a day.',
  role: 'admin',
  http: {
    method: 'POST',
    path: '/invoices/fetch',
    id: 'fetchInvoice',
    body: 'FetchedInvoice',
    without: ['base_url'],
  },
  input: {
    provider: choiceField(COST_REPORTERS, 'Whose report.', 'name'),
    days: daysField(35).describe('UTC days, up to yesterday: today has only begun.'),
    base_url: baseUrlField().optional(),
  },
  answer: IMPORTED,
  gives: 'What was taken.',
  errors: ['conflict'],
  isLong: true,
  async run({ pool, now, findAdminKey, progress }: ReconcilePorts, { provider, days, base_url: baseUrl }) {
    const keyName = adminKeyName(provider)
    const adminKey = findAdminKey(keyName)
    if (adminKey === null)
      throw conflict(`The variable ${keyName} is not set: an admin key of the organization.`)
    const to = addDays(utcDayOf(now()), -1)
    const order = { reporter: provider, adminKey, baseUrl, from: addDays(to, 1 - days), to }
    const { fetchInvoice } = await import('../invoices/fetch-costs.ts') // a gateway starts without it
    const { InvoiceRefused } = await import('../invoices/import-invoice.ts')
    const { ReportError } = await import('../reconcile/fetch-pages.ts')
    try {
      const imported = await fetchInvoice(pool, order, progress('rows'))
      await matchInvoices(pool, null)
      return imported
    } catch (error) {
      if (error instanceof ReportError) throw conflict(`${error.message}.`)
      throw error instanceof InvoiceRefused ? conflict(`The report ${error.message}.`) : error
    }
  },
  render: renderImported,
  changes: { ...CHANGED, says: 'a report of costs was fetched', log: ({ id }) => ({ import: id }) },
  command: { words: 'invoice fetch', print: (imported) => importedText(imported, { dry_run: false }) },
})

export const listInvoices = renderedOperation({
  name: 'invoices.list',
  summary: 'Shows the reports and invoices that were taken, the newest first.',
  role: 'read',
  http: { method: 'GET', path: '/invoices', id: 'listInvoices' },
  input: {},
  answer: shownList(SHOWN_IMPORT),
  gives: 'The imports.',
  run: ({ pool }: Ports) => selectImports(pool),
  render: (imports: readonly InvoiceImport[]) => imports.map(renderImport),
  command: {
    words: 'invoice list',
    print: {
      empty: 'No invoice was taken.',
      columns: [
        { heading: 'ID', cell: ({ id }) => id },
        { heading: 'SOURCE', cell: ({ source }) => source },
        { heading: 'FORMAT', cell: ({ format }) => format },
        { heading: 'OF', cell: ({ billers }) => billers.join(', ') },
        { heading: 'FROM', cell: ({ from }) => from },
        { heading: 'TO', cell: ({ to }) => to },
        { heading: 'ROWS', align: 'right', cell: ({ rows }) => `${rows}` },
        { heading: 'FILE', cell: ({ origin }) => origin },
      ],
    },
  },
})

const removeOperation = operation({
  name: 'invoices.remove',
  summary: 'Removes an import with its rows. Charges that were made of it stay.',
  role: 'admin',
  http: { method: 'DELETE', path: '/invoices/{id}', id: 'removeInvoice' },
  input: { id: textField('The id of an import.', 'id') },
  answer: SHOWN_IMPORT,
  gives: 'The import that was removed.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const removed = await removeImport(pool, id)
    if (removed === null) throw notFound(`There is no import ${id}.`, 'id', 'invoice list shows them')
    await matchInvoices(pool, null)
    return renderImport(removed)
  },
  changes: {
    ...{ ...CHANGED, says: 'an import of an invoice was removed', inParts: true },
    log: ({ id }) => ({ import: id }),
  },
  command: { words: 'invoice remove', options: { id: '<id>' }, print: ({ id }) => `Removed: ${id}.` },
})

export const INVOICE_CHAPTER: Chapter<ReconcilePorts> = {
  words: 'invoice',
  about: "The providers' own reports and invoices.",
  operations: [importOperation, fetchOperation, listInvoices, removeOperation],
}
