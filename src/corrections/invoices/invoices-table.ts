import { randomBase62 } from '../../domain/base62.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { daysOfMonth, type UtcMonth } from '../../domain/utc-month.ts'
import { conflict } from '../../operations/refuse.ts'
import { type Postgres, type PostgresSession, sqlErrorOf } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { Biller, InvoiceClass, InvoiceKind, InvoiceRow } from './invoice-row.ts'

type Session = Postgres | PostgresSession

/** Rows of one file, or of one fetched report. */
export interface InvoiceImport {
  readonly id: string
  /** What a later import of the same name replaces, day by day. */
  readonly source: string
  readonly format: string
  /** What it was read from, for people. */
  readonly origin: string
  readonly billers: readonly Biller[]
  /** UTC days that it covers, both included. */
  readonly from: UtcDay
  readonly to: UtcDay
  readonly rows: bigint
  readonly importedAt: Date
}

const LOCK_NOT_AVAILABLE = '55P03'

/**
 * One import at a time: two of the same source would not see each other's rows.
 *
 * @throws {GatewayError} `conflict`: another one takes long.
 */
export async function lockImports(session: PostgresSession): Promise<void> {
  try {
    await session.query(`lock table ${SCHEMA}.invoice_imports in share row exclusive mode`)
  } catch (error) {
    if (sqlErrorOf(error)?.code !== LOCK_NOT_AVAILABLE) throw error
    throw conflict('Another invoice is being imported: try again.')
  }
}

export function newImportId(): string {
  return `inv_${randomBase62(20)}`
}

const COLUMNS = `import_id text, biller text, day date, service text, kind text, class text, tier text, place text,
  account text, response_id text, quantity_micro numeric, unit text, amount_pico numeric, rounding_pico numeric`

const NAMES = COLUMNS.split(',').map((column) => column.trim().split(' ')[0])

export async function addInvoiceRows(
  session: PostgresSession,
  importId: string,
  rows: readonly InvoiceRow[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.invoice_rows (${NAMES.join(', ')})
     select ${NAMES.join(', ')} from json_to_recordset($1) as r (${COLUMNS})`,
    [
      JSON.stringify(
        rows.map(({ responseId, quantityMicro, amountPico, roundingPico, ...row }) => ({
          ...{ ...row, import_id: importId, response_id: responseId },
          quantity_micro: quantityMicro?.toString() ?? null,
          ...{ amount_pico: amountPico.toString(), rounding_pico: roundingPico.toString() },
        })),
      ),
    ],
  )
}

/** Keeps an import, and removes what others of its source have of the days that it covers. How many rows these were. */
export async function replaceImports(
  session: PostgresSession,
  { id, source, format, origin, billers, from, to }: Omit<InvoiceImport, 'importedAt' | 'rows'>,
): Promise<number> {
  const { rowCount } = await session.query(
    `delete from ${SCHEMA}.invoice_rows r using ${SCHEMA}.invoice_imports i
     where i.id = r.import_id and i.source = $1 and r.day between $2 and $3`,
    [source, from, to],
  )
  await session.query(
    `insert into ${SCHEMA}.invoice_imports (id, source, format, origin, billers, from_day, to_day)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, source, format, origin, billers, from, to],
  )
  await session.query(
    `delete from ${SCHEMA}.invoice_imports i where source = $1 and id <> $2
       and not exists (select from ${SCHEMA}.invoice_rows r where r.import_id = i.id)`,
    [source, id],
  )
  return rowCount ?? 0
}

/** Removes an import with its rows; `null`: there is none of this id. */
export async function removeImport(session: Session, id: string): Promise<InvoiceImport | null> {
  const [found] = await selectImports(session, id)
  if (found === undefined) return null
  await session.query(`delete from ${SCHEMA}.invoice_rows where import_id = $1`, [id])
  await session.query(`delete from ${SCHEMA}.invoice_imports where id = $1`, [id])
  return found
}

/** The newest first. @param id One of them; `null`: all. */
export async function selectImports(
  session: Session,
  id: string | null = null,
): Promise<readonly InvoiceImport[]> {
  const { rows } = await session.query<{
    readonly id: string
    readonly source: string
    readonly format: string
    readonly origin: string
    readonly billers: readonly Biller[]
    readonly from_day: UtcDay
    readonly to_day: UtcDay
    readonly rows: string
    readonly imported_at: Date
  }>(
    `select i.*, (select count(*) from ${SCHEMA}.invoice_rows r where r.import_id = i.id) as rows
     from ${SCHEMA}.invoice_imports i where $1::text is null or i.id = $1 order by i.imported_at desc, i.id`,
    [id],
  )
  return rows.map(({ from_day: from, to_day: to, imported_at: importedAt, ...row }) => ({
    ...{ ...row, from, to, importedAt, rows: BigInt(row.rows) },
  }))
}

/** What an invoice has beside use, added up, to be charged. */
export interface InvoiceCharge {
  readonly biller: Biller
  readonly day: UtcDay
  readonly kind: Exclude<InvoiceKind, 'usage'>
  readonly service: string
  readonly account: string
  readonly amountPico: bigint
}

/** Of one import, or of all of a biller in some days. */
export async function selectInvoiceCharges(
  session: Session,
  of: { readonly importId: string } | { readonly biller: Biller; readonly from: UtcDay; readonly to: UtcDay },
): Promise<readonly (InvoiceCharge & { readonly source: string })[]> {
  const [condition, values] =
    'importId' in of
      ? ['r.import_id = $1', [of.importId]]
      : ['r.biller = $1 and r.day between $2 and $3', [of.biller, of.from, of.to]]
  const { rows } = await session.query<{
    readonly source: string
    readonly biller: Biller
    readonly day: UtcDay
    readonly kind: Exclude<InvoiceKind, 'usage'>
    readonly service: string
    readonly account: string
    readonly pico: string
  }>(
    `select i.source, r.biller, r.day, r.kind, r.service, coalesce(r.account, '') as account,
       sum(r.amount_pico)::text as pico
     from ${SCHEMA}.invoice_rows r join ${SCHEMA}.invoice_imports i on i.id = r.import_id
     where r.kind <> 'usage' and ${condition}
     group by 1, 2, 3, 4, 5, 6 order by 3, 4, 5, 6`,
    [...values],
  )
  return rows.map(({ pico, ...row }) => ({ ...row, amountPico: BigInt(pico) }))
}

/** Use on an invoice, added up by all that it tells of calls. */
export interface InvoicedUse {
  readonly day: UtcDay
  readonly service: string
  readonly class: InvoiceClass | null
  readonly tier: string | null
  readonly place: string | null
  readonly account: string | null
  readonly responseId: string | null
  readonly quantityMicro: bigint | null
  readonly amountPico: bigint
  readonly roundingPico: bigint
}

export async function selectInvoicedUse(
  session: Session,
  { biller, from, to }: { readonly biller: Biller; readonly from: UtcDay; readonly to: UtcDay },
): Promise<readonly InvoicedUse[]> {
  const { rows } = await session.query<{
    readonly day: UtcDay
    readonly service: string
    readonly class: InvoiceClass | null
    readonly tier: string | null
    readonly place: string | null
    readonly account: string | null
    readonly response_id: string | null
    readonly quantity: string | null
    readonly pico: string
    readonly rounding: string
  }>(
    `select day, service, class, tier, place, account, response_id,
       case when count(quantity_micro) = count(*) then sum(quantity_micro)::text end as quantity,
       sum(amount_pico)::text as pico, sum(rounding_pico)::text as rounding
     from ${SCHEMA}.invoice_rows where kind = 'usage' and biller = $1 and day between $2 and $3
     group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7`,
    [biller, from, to],
  )
  return rows.map(({ response_id: responseId, quantity, pico, rounding, ...row }) => ({
    ...{ ...row, responseId, quantityMicro: quantity === null ? null : BigInt(quantity) },
    ...{ amountPico: BigInt(pico), roundingPico: BigInt(rounding) },
  }))
}

/** The invoices of a month, and the imports that they are from. */
export async function selectInvoicedMonths(
  session: Session,
  since: UtcMonth,
): Promise<
  readonly { readonly biller: Biller; readonly month: UtcMonth; readonly imports: readonly string[] }[]
> {
  const { rows } = await session.query<{
    readonly biller: Biller
    readonly month: UtcMonth
    readonly imports: readonly string[]
  }>(
    `select biller, to_char(day, 'YYYY-MM') as month, array_agg(distinct import_id order by import_id) as imports
     from ${SCHEMA}.invoice_rows where day >= $1 group by 1, 2 order by 1, 2`,
    [daysOfMonth(since).from],
  )
  return rows
}
