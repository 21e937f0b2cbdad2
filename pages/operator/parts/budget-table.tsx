import type { ComponentChildren } from 'preact'
import { linkTo } from '../../shared/address.ts'
import { Usd } from '../../shared/figures.tsx'
import { count, moment } from '../../shared/format.ts'
import { Name, Share } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Limit } from '../answers.ts'

const PER = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' }
const RATES = { requests: 'requests a minute', tokens: 'tokens a minute', concurrent: 'calls at once' }

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
        { heading: 'Limit', cell: allowed, value: (limit) => `${limit.raised_to ?? limit.limit}` },
        ...(actions === undefined ? [] : [{ heading: 'Change', cell: actions }]),
      ]}
    />
  )
}

function money(text: string | null): ComponentChildren {
  return <Usd of={text} />
}

function allowed(limit: Limit): ComponentChildren {
  const amount = limit.raised_to ?? limit.limit
  return limit.kind === 'budget' ? <Usd of={amount} /> : count(Number(amount))
}

/** How much of a budget is spent, 1 for all of it. */
function usedOf({ kind, spent_usd: spent, raised_to: raised, limit }: Limit): number {
  if (kind !== 'budget' || spent === null) return 0
  const amount = Number(raised ?? limit)
  return amount > 0 ? Number(spent) / amount : 1
}

function scopeOf(limit: Limit): string {
  const { kind, per, model, key, axis, value, soft, raised_until: until } = limit
  const parts = [
    kind === 'budget' ? PER[per ?? 'total'] : RATES[kind],
    model,
    key,
    axis === null ? null : value === null ? `each ${axis}` : `${axis} ${value}`,
    soft ? 'watched only' : null,
    until === null ? null : `raised until ${moment(until)}`,
  ]
  return parts.filter((part) => part !== null).join(' · ')
}
