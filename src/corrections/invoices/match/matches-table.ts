import { addDays, type UtcDay } from '../../../domain/utc-day.ts'
import type { UtcMonth } from '../../../domain/utc-month.ts'
import type { Postgres } from '../../../store/connection/postgres.ts'
import { SCHEMA } from '../../../store/connection/schema.ts'
import type { Biller } from '../invoice-row.ts'
import { selectInvoicedMonths } from '../invoices-table.ts'
import type { MatchedMonth } from './match-month.ts'

/** What the last comparison of a month found. Amounts are 1e-12 USD. */
export interface InvoiceMatch {
  readonly biller: Biller
  readonly month: UtcMonth
  /** The imports that it was about, in the order of their ids. */
  readonly imports: readonly string[]
  readonly oursPico: bigint
  readonly invoicedPico: bigint
  /** Without signs. */
  readonly unexplainedPico: bigint
}

export interface InvoiceState extends Pick<InvoiceMatch, 'biller' | 'month'> {
  /** `null`: something was imported or removed since, and it is not compared yet. */
  readonly match: InvoiceMatch | null
}

export async function selectMatches(pool: Postgres, since: UtcMonth): Promise<readonly InvoiceMatch[]> {
  const { rows } = await pool.query<{
    readonly biller: Biller
    readonly month: UtcMonth
    readonly imports: readonly string[]
    readonly ours_pico: string
    readonly invoiced_pico: string
    readonly unexplained_pico: string
  }>(`select * from ${SCHEMA}.invoice_matches where month >= $1 order by month, biller`, [since])
  return rows.map(({ biller, month, imports, ...row }) => ({
    ...{ biller, month, imports, oursPico: BigInt(row.ours_pico) },
    ...{ invoicedPico: BigInt(row.invoiced_pico), unexplainedPico: BigInt(row.unexplained_pico) },
  }))
}

export async function selectInvoiceStates(pool: Postgres, since: UtcMonth): Promise<readonly InvoiceState[]> {
  const known = new Map((await selectMatches(pool, since)).map((one) => [`${one.biller} ${one.month}`, one]))
  return (await selectInvoicedMonths(pool, since)).map(({ biller, month, imports }) => {
    const match = known.get(`${biller} ${month}`)
    return { biller, month, match: match?.imports.join() === imports.join() ? match : null }
  })
}

const EARLIEST: UtcMonth = '0001-01'

/**
 * Compares invoices with what we counted: months that changed by an import, and all since a day, whose calls may have
 * come in late.
 */
export async function matchInvoices(pool: Postgres, since: UtcDay | null): Promise<readonly MatchedMonth[]> {
  const { matchMonth } = await import('./match-month.ts') // a gateway starts without it
  const matched: MatchedMonth[] = []
  const again = since?.slice(0, 7) ?? null
  for (const { biller, month, match } of await selectInvoiceStates(pool, EARLIEST)) {
    if (match !== null && (again === null || month < again)) continue
    const one = await matchMonth(pool, biller, month)
    if (one === null) continue
    await keepMatch(pool, one)
    matched.push(one)
  }
  await pool.query(
    `delete from ${SCHEMA}.invoice_matches m where not exists (select from ${SCHEMA}.invoice_rows r
       where r.biller = m.biller and to_char(r.day, 'YYYY-MM') = m.month)`,
  )
  return matched
}

async function keepMatch(
  pool: Postgres,
  { biller, month, imports, oursPico, invoicedPico, unexplainedPico }: MatchedMonth,
): Promise<void> {
  await pool.query(
    `insert into ${SCHEMA}.invoice_matches (biller, month, imports, ours_pico, invoiced_pico, unexplained_pico)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (biller, month) do update set imports = excluded.imports, ours_pico = excluded.ours_pico,
       invoiced_pico = excluded.invoiced_pico, unexplained_pico = excluded.unexplained_pico,
       matched_at = excluded.matched_at`,
    [biller, month, [...imports], `${oursPico}`, `${invoicedPico}`, `${unexplainedPico}`],
  )
}

/** Months that are compared again each night, as calls and corrections of theirs may still come. */
export function recentSince(today: UtcDay): UtcDay {
  return addDays(today, -62)
}
