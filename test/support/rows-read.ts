import { vi } from 'vitest'
import type { Postgres } from '../../src/store/connection/postgres.ts'

/** What a step of a plan did. */
interface Step {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Step[]
}

export interface DoneStep {
  /** `null`: it reads none. */
  readonly table: string | null
  readonly joins: boolean
  /** Read or made, those that a filter passed over included. */
  readonly rows: number
}

export interface Asked {
  readonly statement: string
  readonly values: unknown[]
}

/** The statements that `run` asks the pool for by itself, in their order, and what it gives. */
export async function asking<T>(
  pool: Postgres,
  run: () => Promise<T>,
): Promise<{ readonly given: T; readonly asked: readonly Asked[] }> {
  const queries = vi.spyOn(pool, 'query')
  try {
    const given = await run()
    const calls: readonly (readonly unknown[])[] = queries.mock.calls
    return {
      given,
      asked: calls.map(([text, values]) => ({
        statement: String(text),
        values: Array.isArray(values) ? values : [],
      })),
    }
  } finally {
    queries.mockRestore()
  }
}

/** The steps in which Postgres carries a statement out. It is carried out. */
export async function explainRows(
  pool: Pick<Postgres, 'query'>,
  { statement, values }: Asked,
): Promise<readonly DoneStep[]> {
  const { rows } = await pool.query<{ 'QUERY PLAN': readonly { readonly Plan: Step }[] }>(
    `explain (analyze, format json) ${statement}`,
    values,
  )
  return rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => stepsOf(Plan)))
}

function stepsOf(step: Step): readonly DoneStep[] {
  const {
    'Node Type': type,
    'Relation Name': table = null,
    'Actual Rows': found,
    'Actual Loops': loops,
    'Rows Removed by Filter': removed = 0,
  } = step
  const joins = /Join|Nested Loop/.test(type)
  return [{ table, joins, rows: (found + removed) * loops }, ...(step.Plans ?? []).flatMap(stepsOf)]
}
