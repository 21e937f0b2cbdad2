import { type Choices, linkTo } from '../../shared/address.ts'
import { Usd } from '../../shared/figures.tsx'
import { changeText } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Report } from '../answers.ts'
import { groupOf } from '../names.ts'

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
      actions={<a href={linkTo('explore', { ...choices, sort: 'change', order })}>All clients</a>}
    >
      {({ rows, period }) => (
        <Table
          label={title}
          empty="No client did."
          rows={rows.filter(({ before }) => (order === 'desc' ? 1 : -1) * (before?.change_usd ?? 0) > 0)}
          columns={[
            {
              heading: 'Client',
              kind: 'text',
              cell: (row) => {
                const { name, id } = groupOf(row, 'client')
                return (
                  <a href={linkTo('explore', { ...period, client: id, group_by: 'model' })}>
                    <Name of={name} />
                  </a>
                )
              },
            },
            { heading: 'Cost', cell: ({ cost_usd_text }) => <Usd of={cost_usd_text} /> },
            {
              heading: 'Change',
              cell: ({ before }) => <Usd of={before?.change_usd_text ?? null} />,
              kind: 'main',
            },
            {
              heading: 'By',
              kind: 'extra',
              cell: ({ before, cost_usd }) => changeText(cost_usd, before?.cost_usd ?? 0),
            },
          ]}
        />
      )}
    </Part>
  )
}
