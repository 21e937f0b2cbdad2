/** What a report is broken down and filtered by. */
export const GROUPS = ['client', 'key', 'model', 'upstream'] as const
export type Group = (typeof GROUPS)[number]

/** What a row of a report is called by a group, and what a filter calls it. */
export function groupOf(row: object, group: Group): { readonly name: string; readonly id: string } {
  const text = (field: string) => {
    const value = (row as Readonly<Record<string, unknown>>)[field]
    return typeof value === 'string' ? value : ''
  }
  switch (group) {
    case 'client':
      return { name: text('client') || text('client_id'), id: text('client') }
    case 'key':
      return { name: text('key') || text('key_id'), id: text('key_id') }
    case 'model':
    case 'upstream':
      return { name: text(group), id: text(group) }
    default:
      return group satisfies never
  }
}

/** What is called so has no name. */
export function shownName(name: string): string {
  return name === '' ? '(none)' : name
}
