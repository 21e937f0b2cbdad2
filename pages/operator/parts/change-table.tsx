import { type Choices, linkTo } from '../../shared/address.ts'
import { Part } from '../../shared/part.tsx'
import type { Report } from '../answers.ts'
import { CostTable } from './cost-table.tsx'

interface ChangeTableProps {
  readonly title: string
  readonly choices: Choices
  readonly order: 'desc' | 'asc'
}

/** Clients whose cost changed most, in one direction. */
export function ChangeTable({ title, choices, order }: ChangeTableProps) {
  return (
    <Part<Report>
      title={title}
      path="report"
      choices={{ ...choices, group_by: 'client', sort: 'change', order, limit: 5 }}
      everyMs={60_000}
      actions={<a href={linkTo('explore', { ...choices, sort: 'change', order })}>All clients</a>}
    >
      {({ rows, period }) => (
        <CostTable
          label={title}
          empty="No client did."
          report={{
            period,
            rows: rows.filter(({ before }) => (order === 'desc' ? 1 : -1) * (before?.change_usd ?? 0) > 0),
          }}
          group="client"
        />
      )}
    </Part>
  )
}
