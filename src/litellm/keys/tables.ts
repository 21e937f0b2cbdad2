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

type Form = 'a text' | 'a list of texts' | 'true or false' | 'an object' | 'a list'

/** What columns hold where they are not null. One of another form may stand for a bound that would be lost. */
const FORMS: Readonly<Record<string, Form>> = {
  team_id: 'a text',
  user_id: 'a text',
  budget_id: 'a text',
  organization_id: 'a text',
  models: 'a list of texts',
  allowed_routes: 'a list of texts',
  access_group_ids: 'a list of texts',
  blocked: 'true or false',
  model_max_budget: 'an object',
  metadata: 'an object',
  budget_limits: 'a list',
}

/** The columns of a row that are not what they hold at LiteLLM, each a sentence's end: `models is not a list of texts`. */
export function misshapenColumns(row: Row | undefined): readonly string[] {
  return Object.entries(FORMS).flatMap(([column, form]) => {
    const value = row?.[column]
    return value === null || value === undefined || hasForm(value, form) ? [] : [`${column} is not ${form}`]
  })
}

function hasForm(value: unknown, form: Form): boolean {
  switch (form) {
    case 'a text':
      return typeof value === 'string'
    case 'a list of texts':
      return Array.isArray(value) && value.every((one) => typeof one === 'string')
    case 'true or false':
      return typeof value === 'boolean'
    case 'an object':
      return typeof value === 'object' && !Array.isArray(value)
    case 'a list':
      return Array.isArray(value)
    default:
      return form satisfies never
  }
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

/** When a key ends: a moment that LiteLLM keeps in UTC without saying so. `null`: never. */
export function expiryOf(row: Row): Date | 'unreadable' | null {
  const value = row.expires
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
