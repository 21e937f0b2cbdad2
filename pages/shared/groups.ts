import { titled } from './format.ts'

/** What a report is broken down and filtered by. */
export const GROUPS = ['client', 'key', 'model', 'upstream', 'group'] as const
export type Group = (typeof GROUPS)[number] | `axis:${string}`

/** Values of axes are kept by client, so nothing else goes with them. */
export function isAxis(group: string): group is `axis:${string}` {
  return group.startsWith('axis:')
}

/** What a filter of a report for this value of the group is, as choices of the address. */
export function filterOf(group: Group, id: string): Readonly<Record<string, string>> {
  return isAxis(group) ? { axis: id === '' ? '' : `${group.slice('axis:'.length)}=${id}` } : { [group]: id }
}

/** How a group is called in a heading. */
export function titleOf(group: Group): string {
  return titled(isAxis(group) ? group.slice('axis:'.length) : group)
}

/** What a row of a report is called by a group, and what a filter calls it. */
export function groupOf(row: object, group: Group): { readonly name: string; readonly id: string } {
  const text = (field: string) => {
    const value = (row as Readonly<Record<string, unknown>>)[field]
    return typeof value === 'string' ? value : ''
  }
  if (isAxis(group)) return { name: text('axis_value'), id: text('axis_value') }
  switch (group) {
    case 'client':
      return { name: text('client') || text('client_id'), id: text('client') }
    case 'group':
      return { name: text('group') || text('group_id'), id: text('group_id') }
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
