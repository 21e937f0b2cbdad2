import { Action, type FormField } from '../../shared/action.tsx'
import { type Choices, linkTo } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Choice, Filter, optionOf } from '../../shared/controls.tsx'
import { QueryChoice } from '../../shared/figures.tsx'
import { count, moment, words } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Limit, LimitChange, Refused } from '../answers.ts'
import { BudgetTable } from '../parts/budget-table.tsx'
import { PERIODS } from '../parts/limit-words.tsx'
import { TriedLimits } from '../parts/tried-limits.tsx'

/** What clients may use, what is left of it, and what was refused. */
export function LimitsView() {
  const { query } = address.value
  const { client, state = 'all', cursor, days = '30' } = query
  const sort = query.sort === 'id' ? 'id' : 'used'
  const asked: Choices = { client, sort, limit: 50, cursor, ...(sort === 'used' ? { state } : {}) }
  return (
    <>
      <div class="controls">
        <Filter label="Client" value={client ?? ''} onChoose={(name) => choose({ client: name })} />
        {sort === 'used' && (
          <QueryChoice label="Budgets" name="state" values={['all', 'near', 'exceeded']} chosen={state} />
        )}
        <Action
          label="Set a limit"
          path="limits"
          says="In the place of the one like it: of the same client, key, model, kind and period."
          fields={newLimit(query)}
          isMain
        />
      </div>
      <Part<readonly Limit[]>
        title={sort === 'used' ? 'Budgets, the nearest to their end first' : 'Limits, as they were made'}
        path="limits"
        choices={asked}
        actions={
          <Choice
            label="Shown"
            options={[
              { value: 'used', label: 'Budgets by use' },
              { value: 'id', label: 'All limits' },
            ]}
            chosen={sort}
            onChoose={(order) => choose({ sort: order, state: undefined })}
          />
        }
      >
        {(limits, { next }) => (
          <BudgetTable
            limits={limits}
            next={next}
            file="limits.csv"
            actions={(limit) => <Changes limit={limit} />}
          />
        )}
      </Part>
      <TriedLimits client={client} key={query.key} />
      <Part<readonly Refused[]>
        title="Refused calls"
        path="refused"
        choices={{ client, days, group_by: 'client,reason', limit: 50 }}
        actions={<QueryChoice label="Days" name="days" values={['1', '7', '30']} chosen={days} />}
      >
        {(refused) => <RefusedTable refused={refused} />}
      </Part>
      <Part<readonly LimitChange[]>
        title="Who changed which"
        path="limits/history"
        choices={{ client, limit: 20 }}
      >
        {(changes) => (
          <Table
            label="Changes of limits"
            empty="No limit was changed."
            rows={changes}
            columns={[
              {
                heading: 'Limit',
                cell: ({ client: name, limit }) => <Name of={name ?? 'every client'} detail={limit} />,
              },
              { heading: 'Change', kind: 'text', cell: ({ action }) => words(action) },
              { heading: 'By', kind: 'text', cell: ({ who }) => <Name of={who} /> },
              { heading: 'When', cell: ({ at }) => moment(at) },
            ]}
          />
        )}
      </Part>
    </>
  )
}

const KINDS = ['budget', 'requests', 'tokens', 'concurrent'].map(optionOf)

function newLimit({ client = '', key = '' }: Readonly<Record<string, string>>): readonly FormField[] {
  return [
    { name: 'client', label: 'Client', value: client, isRequired: true },
    { name: 'key', label: 'Key id', hint: 'empty: all of the client', value: key },
    { name: 'model', label: 'Model', hint: 'empty: all; gpt-* for all of a name' },
    { name: 'kind', label: 'Kind', options: KINDS, hint: 'budget in USD; the others a minute, or at once' },
    { name: 'per', label: 'Period', options: PERIODS, hint: 'of a budget' },
    { name: 'limit', label: 'Limit', isRequired: true, hint: 'USD, or how many' },
  ]
}

function Changes({ limit }: { readonly limit: Limit }) {
  const { id, kind, per } = limit
  return (
    <span class="actions">
      <Action
        label="Change"
        method="PUT"
        path={`limits/${id}`}
        says="A raise stays as it is."
        fields={[{ name: 'limit', label: 'Limit', value: `${limit.limit}`, isRequired: true }]}
      />
      <Action
        label="Raise"
        path={`limits/${id}/raise`}
        says="More is allowed until a time. Then it holds as before."
        fields={[
          { name: 'to', label: 'To', isRequired: true },
          { name: 'until', label: 'Until', hint: '2026-12-31, or 4h', isRequired: true },
        ]}
      />
      {kind === 'budget' && per === 'total' && (
        <Action
          label="Top up"
          path={`limits/${id}/top-up`}
          says="It is added for good. With a reference it is added once, however often it is sent."
          fields={[
            { name: 'add_usd', label: 'USD', isRequired: true },
            { name: 'reference', label: 'Reference' },
          ]}
        />
      )}
      <Action
        label="Lift"
        method="DELETE"
        path={`limits/${id}`}
        says="It limits nothing from now on. Calls that it would have refused go upstream."
        isGrave
      />
    </span>
  )
}

/** Most calls first. The reasons of a client stand with it. */
function RefusedTable({ refused }: { readonly refused: readonly Refused[] }) {
  return (
    <Table
      label="Refused calls"
      empty="No call was refused in these days."
      rows={refused}
      file="refused.csv"
      columns={[
        {
          heading: 'Client',
          cell: ({ client = '' }) => (
            <a href={linkTo('explore', { client, sort: 'refused', group_by: 'key' })}>
              <Name of={client === '' ? 'no known client' : client} />
            </a>
          ),
          value: ({ client = '' }) => client,
        },
        {
          heading: 'Why',
          kind: 'text',
          cell: ({ reason = '' }) => words(reason),
          value: ({ reason = '' }) => reason,
        },
        { heading: 'Calls', cell: ({ calls }) => count(calls), value: ({ calls }) => calls },
      ]}
    />
  )
}
