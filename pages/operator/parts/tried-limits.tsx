import { Action, type FormField } from '../../shared/action.tsx'
import { Usd } from '../../shared/figures.tsx'
import { count, moment } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Tried } from '../answers.ts'
import { amountOf, PERIODS, scopeOf } from './limit-words.tsx'

/** Limits that refuse nothing yet, and what they would have refused. */
export function TriedLimits({ client = '', key = '' }: Readonly<Record<string, string | undefined>>) {
  return (
    <Part<readonly Tried[]>
      title="Tried limits"
      path="limits/tried"
      actions={
        <Action
          label="Try a limit"
          path="limits/tried"
          says="Nothing is refused. It is counted what it would have refused, from today on."
          fields={newTrial(client, key)}
        />
      }
    >
      {(tried) => (
        <Table
          label="Tried limits"
          empty="No limit is tried."
          rows={client === '' ? tried : tried.filter((one) => one.client === client || one.client === null)}
          file="tried-limits.csv"
          columns={[
            {
              heading: 'Limit',
              cell: (one) => (
                <>
                  <Name of={one.client ?? 'every client without one'} />
                  <small class="belonging">
                    <bdi>{scopeOf(one)}</bdi>
                  </small>
                </>
              ),
              value: (one) => one.client,
            },
            { heading: 'Allows', cell: amountOf, value: ({ limit }) => `${limit}` },
            {
              heading: 'Would refuse today',
              cell: todayOf,
              value: ({ today }) => today?.refused_calls ?? null,
            },
            {
              heading: 'USD',
              cell: ({ today }) => <Usd of={today?.refused_usd ?? null} />,
              value: ({ today }) => today?.refused_usd ?? null,
            },
            {
              heading: 'In all',
              cell: (one) => (one.counted_at === null ? '' : count(one.refused_calls)),
              value: ({ refused_calls: calls }) => calls,
            },
            {
              heading: 'Last',
              cell: ({ last_refused_at: at }) => (at === null ? '' : moment(at)),
              value: ({ last_refused_at: at }) => at,
            },
            { heading: 'Change', cell: (one) => <Changes of={one} /> },
          ]}
        />
      )}
    </Part>
  )
}

function todayOf({ today }: Tried) {
  if (today === null) return 'not counted yet'
  return `${count(today.refused_calls)} of ${count(today.calls)}`
}

function newTrial(client: string, key: string): readonly FormField[] {
  return [
    { name: 'client', label: 'Client', value: client, isRequired: true },
    { name: 'key', label: 'Key id', hint: 'empty: all of the client', value: key },
    { name: 'model', label: 'Model', hint: 'empty: all; gpt-* for all of a name' },
    { name: 'budget', label: 'Budget', hint: 'USD; or one of the rates below' },
    { name: 'per', label: 'Period', options: PERIODS, hint: 'of a budget' },
    { name: 'rpm', label: 'Requests a minute' },
    { name: 'tpm', label: 'Tokens a minute' },
    { name: 'concurrent', label: 'Calls at once' },
  ]
}

function Changes({ of: { id } }: { readonly of: Tried }) {
  return (
    <span class="actions">
      <Action
        label="Enforce"
        path={`limits/tried/${id}/enforce`}
        says="It holds from now on, in the place of the one like it, and refuses calls. What was counted is dropped."
        isGrave
      />
      <Action
        label="Drop"
        method="DELETE"
        path={`limits/tried/${id}`}
        says="It is tried no more, and what was counted is dropped."
      />
    </span>
  )
}
