import { setImmediate } from 'node:timers/promises'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Progress } from '../../operations/ports.ts'
import { inTransactionOr, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { type ChargedInvoice, chargeInvoice } from './charge-invoice.ts'
import type { InvoiceFormat, ReadBy } from './formats/format.ts'
import { recognise } from './formats/formats.ts'
import { BadRow, type Biller, type InvoiceKind, type InvoiceRow } from './invoice-row.ts'
import {
  addInvoiceRows,
  type InvoiceImport,
  lockImports,
  newImportId,
  replaceImports,
} from './invoices-table.ts'
import { type ReadRecord, readRecords } from './read-records.ts'

export interface InvoiceOrder extends ReadBy {
  readonly text: AsyncIterable<Buffer> | string
  /** `null`: as its columns say. */
  readonly format: InvoiceFormat | null
  /** What a later import of the same name replaces; `null`: the name of the format. */
  readonly source: string | null
  readonly origin: string
  /** UTC days that it covers, and none beside them; `null`: those of its rows, and all between them. */
  readonly days: { readonly from: UtcDay; readonly to: UtcDay } | null
  /** Whether what is beside use becomes charges, and where commitments hold. `null`: it does not. */
  readonly asCharges: { readonly upstream: string | null } | null
  readonly isDry: boolean
}

/** What was imported, or would be. */
export interface ImportedInvoice extends Omit<InvoiceImport, 'rows' | 'importedAt'> {
  /** Rows that were read and kept: many become one. */
  readonly rows: number
  /** Rows that are not about models, or of days that were not asked for. */
  readonly passedOver: number
  /** Kept rows of imports before, which these replace. */
  readonly replaced: number
  /** 1e-12 USD. */
  readonly sums: ReadonlyMap<InvoiceKind, bigint>
  /** `null`: not asked for. */
  readonly charged: ChargedInvoice | null
}

/** An invoice that cannot be taken. Nothing of it is kept. The message comes behind the name of the file. */
export class InvoiceRefused extends Error {
  override readonly name = 'InvoiceRefused'
}

/** A report of many hours and resources becomes rows of days, so many at a time. */
const ROWS_AT_ONCE = 5_000
/** A gateway that is sent an invoice serves others meanwhile. */
const ROWS_IN_A_TURN = 1_000
const SHOWN_PROBLEMS = 5
/** Reading what is passed over may take as long between two statements. */
const LONGEST_SILENCE = '1h'

/**
 * Takes an invoice, whole or not at all, in place of what imports of the same source have of its days. Memory does not
 * grow with it.
 *
 * @throws {InvoiceRefused} with the lines that cannot be read.
 */
export async function importInvoice(
  pool: Postgres,
  order: InvoiceOrder,
  progress: Progress,
): Promise<ImportedInvoice> {
  return await inTransactionOr(pool, async (session) => {
    await session.query(`set local idle_in_transaction_session_timeout = '${LONGEST_SILENCE}'`)
    await lockImports(session)
    const id = newImportId()
    const taken = new Taken(session, id, order.days)
    const format = await take(order, taken, progress)
    await taken.flush()
    const { from, to } = order.days ?? taken
    if (from === '' || to === '')
      throw new InvoiceRefused(`has no row that is about models, of ${taken.passedOver}`)
    const { origin } = order
    const kept = { id, origin, format: format.name, source: order.source ?? format.name }
    const whole = { ...kept, from, to, billers: [...taken.billers].sort() }
    const replaced = await replaceImports(session, whole)
    const charged =
      order.asCharges === null ? null : await chargeInvoice(session, whole, order.asCharges.upstream)
    const { rows, passedOver, sums } = taken
    return { isKept: !order.isDry, result: { ...whole, rows, passedOver, replaced, sums, charged } }
  })
}

async function take(order: InvoiceOrder, taken: Taken, progress: Progress): Promise<InvoiceFormat> {
  const problems: string[] = []
  let format = order.format
  try {
    for await (const records of readRecords(order.text)) {
      format ??= recognise(records[0]?.names ?? [])
      if (format === null)
        throw new InvoiceRefused('is of no format that is known here: its columns are those of none')
      for (const [index, record] of records.entries()) {
        if (index % ROWS_IN_A_TURN === ROWS_IN_A_TURN - 1) await setImmediate()
        takeRecord(record, format, order, taken, problems)
      }
      await taken.flushFull()
      progress.at(`line ${records.at(-1)?.line ?? 0}`, taken.rows)
    }
  } catch (error) {
    if (!(error instanceof BadRow)) throw error
    problems.push(error.message)
  }
  if (problems.length > 0) {
    const others = problems.length - SHOWN_PROBLEMS
    const shown = problems.slice(0, SHOWN_PROBLEMS).join('; ')
    throw new InvoiceRefused(`cannot be read: ${shown}${others > 0 ? `; and ${others} more` : ''}`)
  }
  if (format === null) throw new InvoiceRefused('has no rows')
  return format
}

function takeRecord(
  { line, cells }: ReadRecord,
  format: InvoiceFormat,
  order: InvoiceOrder,
  taken: Taken,
  problems: string[],
): void {
  try {
    const missing = format.columns.find((name) => cells.get(name) === '' && isNeeded(name))
    if (missing !== undefined) throw new BadRow(`${missing} is empty`)
    taken.add(format.rowOf(cells, order))
  } catch (error) {
    if (!(error instanceof BadRow)) throw error
    problems.push(`line ${line}: ${error.message}`)
  }
}

/** A row's day and amount. */
function isNeeded(column: string): boolean {
  return /date|time|start|cost|amount/i.test(column)
}

/** Rows of an import, added up by all that they say, until there are enough to be written. */
class Taken {
  readonly billers = new Set<Biller>()
  readonly sums = new Map<InvoiceKind, bigint>()
  rows = 0
  passedOver = 0
  /** '': none yet. */
  from: UtcDay = ''
  to: UtcDay = ''
  readonly #session: PostgresSession
  readonly #id: string
  readonly #days: InvoiceOrder['days']
  #added = new Map<string, InvoiceRow>()

  constructor(session: PostgresSession, id: string, days: InvoiceOrder['days']) {
    this.#session = session
    this.#id = id
    this.#days = days
  }

  add(found: InvoiceRow | readonly InvoiceRow[] | null): void {
    const rows = [found ?? []].flat().filter(({ day }) => this.#covers(day))
    if (rows.length === 0) this.passedOver += 1
    else this.rows += 1
    for (const row of rows) this.#addRow(row)
  }

  /** A day that was not asked for may not be whole: it would take the place of what a fetch of that day has. */
  #covers(day: UtcDay): boolean {
    return this.#days === null || (this.#days.from <= day && day <= this.#days.to)
  }

  #addRow(row: InvoiceRow): void {
    const { biller, day, kind, quantityMicro, amountPico, roundingPico } = row
    this.billers.add(biller)
    this.sums.set(kind, (this.sums.get(kind) ?? 0n) + amountPico)
    if (this.from === '' || day < this.from) this.from = day
    if (day > this.to) this.to = day
    const { service, class: ofClass, tier, place, account, responseId, unit } = row
    // PostgreSQL has no such texts.
    if (/\0|\p{Cs}/u.test(`${service}${tier}${place}${account}${responseId}${unit}`))
      throw new BadRow('a text in it has a NUL, or half a letter')
    const name = JSON.stringify([
      ...[biller, day, kind, service, ofClass, tier, place, account, responseId, unit],
      quantityMicro === null,
    ])
    const known = this.#added.get(name)
    this.#added.set(
      name,
      known === undefined
        ? row
        : {
            ...row,
            quantityMicro: quantityMicro === null ? null : (known.quantityMicro ?? 0n) + quantityMicro,
            amountPico: known.amountPico + amountPico,
            roundingPico: known.roundingPico + roundingPico,
          },
    )
  }

  async flushFull(): Promise<void> {
    if (this.#added.size >= ROWS_AT_ONCE) await this.flush()
  }

  async flush(): Promise<void> {
    const rows = [...this.#added.values()]
    this.#added = new Map()
    for (let first = 0; first < rows.length; first += ROWS_AT_ONCE)
      await addInvoiceRows(this.#session, this.#id, rows.slice(first, first + ROWS_AT_ONCE))
  }
}
