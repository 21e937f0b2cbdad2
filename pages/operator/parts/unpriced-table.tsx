import { linkTo } from '../../shared/address.ts'
import { count, shortDay, words } from '../../shared/format.ts'
import { Name } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Unpriced } from '../answers.ts'

/** Reasons for which a price would help; the others reported no figures that it could be for. `null`: not known. */
const PRICE_HELPS: ReadonlySet<string | null> = new Set([null, 'no_model', 'no_price', 'use_without_price'])

function lacksPrice({ reason }: Pick<Unpriced, 'reason'>): boolean {
  return PRICE_HELPS.has(reason)
}

/** What to do about calls without a cost. */
export function mendOf(uses: readonly Pick<Unpriced, 'reason' | 'has_price_now'>[]): string {
  const lacking = uses.filter(lacksPrice)
  if (lacking.length === 0) return 'No price helps: the checks say what does.'
  return lacking.every(({ has_price_now: hasPrice }) => hasPrice === true)
    ? 'They have a price by now: correct the past below.'
    : "Add prices in TALLYGATE_CONFIG; '0' is what is free."
}

/** Which calls are in no sum, and what helps. */
export function UnpricedTable({ uses }: { readonly uses: readonly Unpriced[] }) {
  return (
    <Table
      label="Calls without a cost"
      empty="Every call has a cost."
      rows={uses}
      file="unpriced.csv"
      columns={[
        {
          heading: 'Model',
          cell: (use) => (
            <a href={linkTo('explore', { model: use.model, group_by: 'client', sort: 'unpriced' })}>
              <Name
                of={lacksPrice(use) || use.path === null ? use.model : `${use.method} ${use.path}`}
                detail={use.upstream}
              />
            </a>
          ),
          value: ({ model }) => model,
        },
        {
          heading: 'Why',
          kind: 'text',
          cell: ({ reason, has_price_now: hasPrice }) =>
            `${reason === null ? 'not known' : words(reason)}${hasPrice === true ? ', priced since' : ''}`,
          value: ({ reason }) => reason,
        },
        {
          heading: 'Days',
          kind: 'extra',
          cell: ({ first_day: first, last_day: last }) => `${shortDay(first)} to ${shortDay(last)}`,
        },
        { heading: 'Calls', cell: ({ calls }) => count(calls), value: ({ calls }) => calls },
      ]}
    />
  )
}
