import { Action } from '../../shared/action.tsx'
import { count, plural } from '../../shared/format.ts'
import { Card } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Verification } from '../answers.ts'

/** Recomputes the totals when somebody asks for it: it may read every call that is kept. */
export function Verify() {
  return (
    <Card
      title="The totals, recomputed"
      actions={
        <Action<Verification>
          label="Verify"
          method="GET"
          path="ledger/verify"
          fields={[
            { name: 'since', label: 'Since', hint: 'a UTC day; empty: all days' },
            { name: 'changed', label: 'Days', options: WHICH },
          ]}
          says="Totals are recomputed from calls, prices and adjustments. Nothing is changed. Over millions of calls it takes minutes."
          shows={(found) => <Found of={found} />}
        />
      }
    >
      <p class="empty">Nothing is read until you ask for it.</p>
    </Card>
  )
}

const WHICH = [
  { value: 'true', label: 'not found right in the last week, or changed since' },
  { value: 'false', label: 'all of them' },
]

function Found({ of }: { readonly of: Verification }) {
  const { ok, rows, calls, days_from_calls: days, days_unchanged: unchanged, differences } = of
  const { requests_by_marks: counted, requests_in_totals: totals, days_incomplete: incomplete } = of
  return (
    <>
      <p role="status">
        {ok ? 'Nothing differs' : `${plural(differences.length, 'difference')}`}: {plural(rows, 'row')} of
        totals and {plural(calls, 'call')} of {plural(days.length, 'day')} were compared.{' '}
        {unchanged.length > 0 && `${plural(unchanged.length, 'day')} had been found right before.`}
      </p>
      <p>
        Producers counted {count(counted)} requests in all, the totals have {count(totals)}.{' '}
        {incomplete.length > 0 && `Not all calls are kept of ${incomplete.join(', ')}.`}
      </p>
      {differences.length > 0 && (
        <Table
          label="Differences"
          empty=""
          rows={differences}
          file="differences.csv"
          columns={[
            { heading: 'Day', cell: (row) => `${row.day}`, value: (row) => `${row.day}` },
            { heading: 'Model', cell: (row) => `${row.model}`, value: (row) => `${row.model}` },
            { heading: 'Client', kind: 'none', cell: () => null, value: (row) => `${row.client_id}` },
            { heading: 'Column', cell: ({ column }) => column, value: ({ column }) => column },
            { heading: 'Stored', cell: ({ stored }) => stored, value: ({ stored }) => stored },
            {
              heading: 'Should be',
              cell: ({ recomputed }) => recomputed,
              value: ({ recomputed }) => recomputed,
            },
          ]}
        />
      )}
    </>
  )
}
