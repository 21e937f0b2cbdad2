import { linkTo } from '../../shared/address.ts'
import { Usd } from '../../shared/figures.tsx'
import { changeText } from '../../shared/format.ts'
import { filterOf, type Group, groupOf, titleOf } from '../../shared/groups.ts'
import { Name } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Report } from '../answers.ts'
import { deeper } from './report-chart.tsx'

interface CostTableProps {
  readonly label: string
  readonly empty: string
  readonly report: Pick<Report, 'rows' | 'period'>
  readonly group: Group
}

/** What each of some groups cost, beside the period before, in the server's order. */
export function CostTable({ label, empty, report: { rows, period }, group }: CostTableProps) {
  return (
    <Table
      label={label}
      empty={empty}
      rows={rows}
      columns={[
        {
          heading: titleOf(group),
          cell: (row) => {
            const { name, id } = groupOf(row, group)
            return (
              <a href={linkTo('explore', { ...period, ...filterOf(group, id), ...deeper(group, group) })}>
                <Name of={name} />
              </a>
            )
          },
        },
        { heading: 'Cost', kind: 'main', cell: ({ cost_usd_text: cost }) => <Usd of={cost} /> },
        {
          heading: 'Before',
          kind: 'extra',
          cell: ({ before }) => <Usd of={before?.cost_usd_text ?? null} />,
        },
        { heading: 'Change', cell: ({ before }) => <Usd of={before?.change_usd_text ?? null} /> },
        {
          heading: 'By',
          kind: 'extra',
          cell: ({ before, cost_usd: cost }) => changeText(cost, before?.cost_usd ?? 0),
        },
      ]}
    />
  )
}
