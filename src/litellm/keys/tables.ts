/** A row of one of LiteLLM's tables, as JSON. Releases differ in their columns, so each is read on its own. */
export type Row = Readonly<Record<string, unknown>>

/** What an import reads of a LiteLLM database. */
export interface LiteLlmTables {
  /** `LiteLLM_VerificationToken`. */
  readonly keys: readonly Row[]
  /** `LiteLLM_TeamTable`. */
  readonly teams: readonly Row[]
  /** `LiteLLM_UserTable`. */
  readonly users: readonly Row[]
  /** `LiteLLM_BudgetTable`. */
  readonly budgets: readonly Row[]
}

/** The names of the tables at LiteLLM, by the member that has their rows. */
export const TABLE_NAMES: Readonly<Record<keyof LiteLlmTables, string>> = {
  keys: 'LiteLLM_VerificationToken',
  teams: 'LiteLLM_TeamTable',
  users: 'LiteLLM_UserTable',
  budgets: 'LiteLLM_BudgetTable',
}

/** `null`: the column is missing, null, empty or not a text. */
export function columnText(row: Row | undefined, column: string): string | null {
  const value = row?.[column]
  return typeof value === 'string' && value !== '' ? value : null
}

/** `[]`: the column is missing or not a list. What is not a text in it is left out. */
export function columnTexts(row: Row | undefined, column: string): readonly string[] {
  const value = row?.[column]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** The members of a column that is a JSON object; none where it is missing or anything else. */
export function columnMembers(row: Row | undefined, column: string): readonly (readonly [string, unknown])[] {
  const value = row?.[column]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
}

/** A moment, which LiteLLM keeps in UTC without saying so. `null`: none. */
export function columnMoment(row: Row, column: string): Date | 'unreadable' | null {
  const value = row[column]
  if (value === null || value === undefined) return null
  if (typeof value !== 'string') return 'unreadable'
  const moment = new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(value) ? value : `${value.replace(' ', 'T')}Z`)
  return Number.isNaN(moment.getTime()) ? 'unreadable' : moment
}

/** Rows by the text of a column. */
export function indexRows(rows: readonly Row[], column: string): ReadonlyMap<string, Row> {
  return new Map(
    rows.flatMap((row) => {
      const name = columnText(row, column)
      return name === null ? [] : [[name, row]]
    }),
  )
}
