import { Action } from '../../shared/action.tsx'
import { linkTo } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Filter } from '../../shared/controls.tsx'
import { moment } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Client } from '../answers.ts'
import { Moves } from './groups.tsx'

/** The accounts that usage is summed up for, and where each of them leads. */
export function ClientsView() {
  const { group, cursor } = address.value.query
  return (
    <>
      <div class="controls">
        <Filter
          label="Group, with those below it"
          value={group ?? ''}
          onChoose={(name) => choose({ group: name })}
        />
        <Action
          label="Make a client"
          path="clients"
          fields={[{ name: 'name', label: 'Name', isRequired: true }]}
          says="It has no key yet."
          isMain
        />
      </div>
      <Part<readonly Client[]>
        title={group === undefined ? 'Clients' : 'Clients in the group'}
        path="clients"
        choices={{ group, limit: 100, cursor }}
      >
        {(clients, { next }) => (
          <Table
            label="Clients"
            empty={group === undefined ? 'There is no client.' : 'There is no client in it.'}
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
                cell: ({ id, name }) => (
                  <span class="actions">
                    <a href={linkTo('keys', { client: name })}>keys</a>
                    <a href={linkTo('limits', { client: name })}>limits</a>
                    <a href={linkTo('calls', { client: name })}>calls</a>
                    <a href={linkTo('statements', { client: name })}>statement</a>
                    <a href={linkTo('audit', { of: id })}>changes</a>
                  </span>
                ),
              },
              {
                heading: 'Since',
                kind: 'extra',
                cell: ({ created_at: at }) => moment(at),
                value: ({ created_at: at }) => at,
              },
              { heading: 'Change', cell: (client) => <Changes client={client} group={group ?? null} /> },
            ]}
          />
        )}
      </Part>
    </>
  )
}

function Changes({ client, group }: { readonly client: Client; readonly group: string | null }) {
  const { id, name } = client
  return (
    <span class="actions">
      <Moves path={`clients/${id}`} name={name} parent={group} />
      <Switch client={client} />
    </span>
  )
}

function Switch({ client: { id, name, disabled } }: { readonly client: Client }) {
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
