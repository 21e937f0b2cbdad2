import { SCHEMA } from '../store/connection/schema.ts'
import type { DIMENSIONS } from './dimensions.ts'

type NamedDimension = Pick<(typeof DIMENSIONS)[number], 'column' | 'named'>

/** The joins from rows `u` to the names that people know their dimensions by. */
export function joinNames(dimensions: readonly NamedDimension[]): string {
  return dimensions
    .flatMap(({ column, named }) =>
      named === undefined
        ? []
        : [`left join ${SCHEMA}.${named.table} ${named.table} on ${named.table}.id = u.${column}`],
    )
    .join(' ')
}

/** Such a name, in SQL with those joins. */
export function nameIn({ table }: { readonly table: string }): string {
  return `${table}.name`
}
