import { Action, Secret } from '../../shared/action.tsx'
import { linkTo } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Choice, Filter } from '../../shared/controls.tsx'
import { count, moment, shortDay } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Key, Network } from '../answers.ts'

interface MadeKey {
  readonly key: string
}

const showKey = ({ key }: MadeKey) => <Secret what="The key." of={key} />

/** The keys that clients call with: made, limited, rotated, revoked; and where they are used from. */
export function KeysView() {
  const { client, cursor, networks = 'new' } = address.value.query
  return (
    <>
      <div class="controls">
        <Filter label="Client" value={client ?? ''} onChoose={(name) => choose({ client: name })} />
        <Action<MadeKey>
          label="Make a key"
          path="keys"
          fields={[
            { name: 'client', label: 'Client', value: client ?? '', isRequired: true },
            { name: 'name', label: 'Name', hint: 'a label' },
            { name: 'expires_in', label: 'Ends after', hint: 'such as 30d; empty: never' },
            {
              name: 'models',
              label: 'Models',
              hint: 'with commas between; empty: all',
              read: (text) => text.split(/\s*,\s*/).filter((model) => model !== ''),
            },
          ]}
          says="It can be used at once."
          shows={showKey}
          isMain
        />
      </div>
      <Part<readonly Key[]> title="Keys" path="keys" choices={{ client, limit: 100, cursor }}>
        {(keys, { next }) => <KeyTable keys={keys} next={next} nowMs={Date.now()} />}
      </Part>
      <Part<readonly Network[]>
        title="Networks that keys are used from"
        path="keys/networks"
        choices={{ client, limit: 50, ...(networks === 'new' ? { new: true } : {}) }}
        everyMs={60_000}
        actions={
          <Choice
            label="Which"
            options={[
              { value: 'new', label: 'New ones' },
              { value: 'all', label: 'All' },
            ]}
            chosen={networks}
            onChoose={(which) => choose({ networks: which })}
          />
        }
      >
        {(found) => <NetworkTable networks={found} />}
      </Part>
    </>
  )
}

interface KeyTableProps {
  readonly keys: readonly Key[]
  readonly next: string | null
  readonly nowMs: number
}

function KeyTable({ keys, next, nowMs }: KeyTableProps) {
  return (
    <Table
      label="Keys"
      empty="There is no key."
      rows={keys}
      next={next}
      file="keys.csv"
      columns={[
        {
          heading: 'Key',
          cell: ({ name, prefix, id }) => (
            <>
              <a href={linkTo('explore', { key: id, group_by: 'model' })}>
                <Name of={name} />
              </a>
              <small class="belonging">
                {prefix}… · {id}
              </small>
            </>
          ),
          value: ({ name }) => name,
        },
        { heading: 'Id', cell: () => null, kind: 'none', value: ({ id }) => id },
        {
          heading: 'Client',
          kind: 'text',
          cell: ({ client }) => (
            <a href={linkTo('keys', { client })}>
              <Name of={client} />
            </a>
          ),
          value: ({ client }) => client,
        },
        {
          heading: 'Last used',
          kind: 'extra',
          cell: ({ last_used_at: at }) => moment(at),
          value: ({ last_used_at: at }) => at,
        },
        { heading: 'State', cell: (key) => stateOf(key, nowMs), value: (key) => stateOf(key, nowMs) },
        { heading: 'Change', cell: (key) => key.revoked_at === null && <Changes of={key} /> },
      ]}
    />
  )
}

function stateOf({ revoked_at: revoked, expires_at: ends }: Key, nowMs: number): string {
  if (revoked !== null) return `revoked ${shortDay(revoked.slice(0, 10))}`
  if (ends === null) return 'active'
  return `${Date.parse(ends) <= nowMs ? 'ended' : 'until'} ${shortDay(ends.slice(0, 10))}`
}

function Changes({ of: { id, name, client } }: { readonly of: Key }) {
  return (
    <span class="actions">
      <a href={linkTo('limits', { client, key: id })}>Limit</a>
      <Action<MadeKey>
        label="Rotate"
        path={`keys/${id}/rotate`}
        fields={[{ name: 'overlap', label: 'The old one goes on for', hint: 'such as 1h; empty: 24h' }]}
        says={
          <>
            A like key takes the place of <Name of={name} />, with its limits.
          </>
        }
        shows={showKey}
      />
      <Action
        label="Revoke"
        path={`keys/${id}/revoke`}
        says={
          <>
            <Name of={name} /> of <Name of={client} /> is refused within a second, for good.
          </>
        }
        isGrave
      />
    </span>
  )
}

function NetworkTable({ networks }: { readonly networks: readonly Network[] }) {
  return (
    <Table
      label="Networks"
      empty="No key was used from a new network."
      rows={networks}
      file="networks.csv"
      columns={[
        {
          heading: 'Network',
          cell: ({ network, new: isNew }) => (
            <>
              <Name of={network} />
              {isNew && <span class="badge">new</span>}
            </>
          ),
          value: ({ network }) => network,
        },
        {
          heading: 'Key',
          kind: 'text',
          cell: ({ key_name: name, key_id: id, client }) => (
            <a href={linkTo('calls', { key: id })}>
              <Name of={name} detail={client} />
            </a>
          ),
          value: ({ key_id: id }) => id,
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
