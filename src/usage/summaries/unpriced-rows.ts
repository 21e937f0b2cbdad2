import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { queryLong } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { KEY, KEY_COLUMNS, keyIn, sameKey } from '../daily-key.ts'
import { valueIn } from '../metrics-table.ts'
import { LEFT_UNPRICED } from './summary-tables.ts'

/** The rows of closed days that still have calls without a cost: all that a query about these needs of a day. */
export const UNPRICED_ROWS = 'usage_days_unpriced'

const FIGURES = ['unpriced_left', 'priced_later', 'input_tokens', 'output_tokens'] as const
const COLUMNS = [KEY, 'provider', ...FIGURES].join(', ')

/** The same rows of `daily_usage`, in SQL: those of the days that a condition on `u` names. */
export function unpricedRowsAmong(days: string): string {
  return `
  select ${keyIn('u')}, u.provider, u.unpriced - ${valueIn('u', 'priced_later')} as unpriced_left, u.priced_later,
    u.input_tokens, u.output_tokens
  from ${SCHEMA}.daily_usage u where (${days}) and ${LEFT_UNPRICED}`
}

/** The rows as they were written, of the closed days that a condition names. */
export function writtenUnpricedRows(days: string): string {
  return `select ${COLUMNS} from ${SCHEMA}.${UNPRICED_ROWS} where ${days}`
}

/**
 * Replaces the rows of a day.
 *
 * @returns How many it has.
 */
export async function writeUnpricedRows(session: PostgresSession, day: UtcDay): Promise<number> {
  await queryLong(session, `delete from ${SCHEMA}.${UNPRICED_ROWS} where day = $1`, [day])
  const { rowCount } = await queryLong(
    session,
    `insert into ${SCHEMA}.${UNPRICED_ROWS} (${COLUMNS}) ${unpricedRowsAmong('u.day = $1')}
     order by ${keyIn('u')}`,
    [day],
  )
  return rowCount ?? 0
}

const COMPARE = `
select ${[...KEY_COLUMNS, ...FIGURES]
  .map((column) => `s.${column}::text as "s.${column}", r.${column}::text as "r.${column}"`)
  .join(', ')}
from (${writtenUnpricedRows('day = $1')}) s
full join (${unpricedRowsAmong('u.day = $1')}) r on ${sameKey('s', 'r')}
where ${['provider', ...FIGURES].map((column) => `s.${column} is distinct from r.${column}`).join(' or ')}
order by ${KEY_COLUMNS.map((column) => `coalesce(s.${column}, r.${column})`).join(', ')} limit $2`

/** A figure of a row that is not as in `daily_usage`; `null`: there is no row, or no figure. */
export interface UnpricedRowDifference {
  readonly key: Readonly<Record<string, string | null>>
  readonly column: string
  readonly stored: string | null
  readonly recomputed: string | null
}

/** Holds the rows of a closed day against those of `daily_usage`; of `limit` rows at most. */
export async function selectUnpricedRowDifferences(
  session: PostgresSession,
  day: UtcDay,
  limit: number,
): Promise<readonly UnpricedRowDifference[]> {
  const { rows } = await queryLong<Readonly<Record<string, string | null>>>(session, COMPARE, [day, limit])
  return rows.flatMap((row) =>
    FIGURES.flatMap((column): UnpricedRowDifference[] => {
      const [stored = null, recomputed = null] = [row[`s.${column}`], row[`r.${column}`]]
      if (stored === recomputed) return []
      const key = Object.fromEntries(
        KEY_COLUMNS.map((name) => [name, row[`s.${name}`] ?? row[`r.${name}`] ?? null]),
      )
      return [{ key, column, stored, recomputed }]
    }),
  )
}
