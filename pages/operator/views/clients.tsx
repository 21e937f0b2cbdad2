import { Action } from '../../shared/action.tsx'
import { linkTo } from '../../shared/address.ts'
import { address } from '../../shared/context.tsx'
import { moment } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Client } from '../answers.ts'

/** The accounts that usage is summed up for, and where each of them leads. */
export function ClientsView() {
  const { cursor } = address.value.query
  return (
    <Part<readonly Client[]>
      title="Clients"
      path="clients"
      choices={{ limit: 100, cursor }}
      actions={
        <Action
          label="Make a client"
          path="clients"
          fields={[{ name: 'name', label: 'Name', isRequired: true }]}
          says="It has no key yet."
          isMain
        />
      }
    >
      {(clients, { next }) => (
        <Table
          label="Clients"
          empty="There is no client."
          rows={clients}
          next={next}
          file="clients.csv"
          columns={[
            {
              heading: 'Client',
              cell: ({ name, id, disabled }) => (
                <>
                  <a href={linkTo('explore', { client: name, group_by: 'model', compare: 'previous' })}>
                    <Name of={name} />
                  </a>
                  {disabled && <span class="badge">disabled</span>}
                  <small class="belonging">{id}</small>
                </>
              ),
              value: ({ name }) => name,
            },
            { heading: 'Id', cell: () => null, kind: 'none', value: ({ id }) => id },
            {
              heading: 'Its own',
              kind: 'text',
              cell: ({ name }) => (
                <span class="actions">
                  <a href={linkTo('keys', { client: name })}>keys</a>
                  <a href={linkTo('limits', { client: name })}>limits</a>
                  <a href={linkTo('calls', { client: name })}>calls</a>
                </span>
              ),
            },
            {
              heading: 'Since',
              kind: 'extra',
              cell: ({ created_at: at }) => moment(at),
              value: ({ created_at: at }) => at,
            },
            { heading: 'Change', cell: (client) => <Changes client={client} /> },
          ]}
        />
      )}
    </Part>
  )
}

function Changes({ client: { id, name, disabled } }: { readonly client: Client }) {
  if (disabled)
    return (
      <Action
        label="Enable"
        path={`clients/${id}/enable`}
        says={<>The keys of {<Name of={name} />} are taken again.</>}
      />
    )
  return (
    <Action
      label="Disable"
      path={`clients/${id}/disable`}
      says={
        <>
          All keys of <Name of={name} /> are refused within a second, until it is enabled.
        </>
      }
      isGrave
    />
  )
}
