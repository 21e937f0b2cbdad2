import type { ComponentChildren } from 'preact'
import { linkTo } from '../../shared/address.ts'
import { Usd } from '../../shared/figures.tsx'
import { Name, Share } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Limit } from '../answers.ts'
import { amountOf, scopeOf } from './limit-words.tsx'

interface BudgetTableProps {
  readonly limits: readonly Limit[]
  readonly next?: string | null
  readonly file?: string
  readonly actions?: (limit: Limit) => ComponentChildren
}

/** Limits in the server's order, with what is left of budgets. */
export function BudgetTable({ limits, next = null, file, actions }: BudgetTableProps) {
  return (
    <Table
      label="Limits"
      empty="There is no such limit."
      rows={limits}
      next={next}
      {...(file === undefined ? {} : { file })}
      columns={[
        {
          heading: 'Limit',
          cell: (limit) => (
            <>
              <a href={linkTo('limits', { client: limit.client ?? undefined })}>
                <Name of={limit.client ?? 'every client without one'} />
              </a>
              {usedOf(limit) >= 1 && <span class="badge">spent</span>}
              <small class="belonging">
                <bdi>{scopeOf(limit)}</bdi>
              </small>
              <Share of={usedOf(limit)} />
            </>
          ),
          value: ({ client }) => client,
        },
        { heading: 'Spent', cell: (limit) => money(limit.spent_usd), value: ({ spent_usd }) => spent_usd },
        { heading: 'Left', cell: (limit) => money(limit.left_usd), value: ({ left_usd }) => left_usd },
        {
          heading: 'Limit',
          cell: (limit) => amountOf({ ...limit, limit: limit.raised_to ?? limit.limit }),
          value: (limit) => `${limit.raised_to ?? limit.limit}`,
        },
        ...(actions === undefined ? [] : [{ heading: 'Change', cell: actions }]),
      ]}
    />
  )
}

function money(text: string | null): ComponentChildren {
  return <Usd of={text} />
}

/** How much of a budget is spent, 1 for all of it. */
function usedOf({ kind, spent_usd: spent, raised_to: raised, limit }: Limit): number {
  if (kind !== 'budget' || spent === null) return 0
  const amount = Number(raised ?? limit)
  return amount > 0 ? Number(spent) / amount : 1
}
