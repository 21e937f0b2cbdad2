import { useState } from 'preact/hooks'
import { Action, Secret } from '../shared/action.tsx'
import { moment, plural, shortDay } from '../shared/format.ts'
import { Name, Part } from '../shared/part.tsx'
import { Table } from '../shared/table.tsx'
import { account, useAccount } from './account.ts'
import type { OwnKey } from './answers.ts'

interface MadeKey {
  readonly key: string
}

const showKey = ({ key }: MadeKey) => <Secret what="The key." of={key} />

const readModels = (text: string) => text.split(/\s*,\s*/).filter((model) => model !== '')

/** The keys of a member, which makes, rotates and revokes its own. */
export function KeysView() {
  useAccount()
  const member = account.value?.member ?? null
  if (member === null) return null
  const { models, most_keys: most, keys_end_at: end, group } = member
  return (
    <>
      <div class="controls">
        <Action<MadeKey>
          label="Make a key"
          path="keys"
          fields={[
            { name: 'name', label: 'Name', hint: 'a label' },
            {
              name: 'models',
              label: 'Models',
              hint: `with commas between; empty: ${models === null ? 'all' : models.join(', ')}`,
              read: readModels,
            },
            { name: 'budget_usd', label: 'Budget a month', hint: 'in US dollars; empty: none of its own' },
          ]}
          says={
            <>
              It can be used at once. A member of <Name of={group} /> may have {plural(most, 'key')}.
            </>
          }
          shows={showKey}
          isMain
        />
      </div>
      <p class="quiet">
        Keys that you made end on {shortDay(end.slice(0, 10))}, unless you sign in again before.
      </p>
      <Part<readonly OwnKey[]> title="Your keys" path="keys">
        {(keys) => <Keys keys={keys} nowMs={Date.now()} areOwn />}
      </Part>
    </>
  )
}

interface KeysProps {
  readonly keys: readonly OwnKey[]
  readonly nowMs: number
  /** They can be rotated and revoked; absent: they are only shown. */
  readonly areOwn?: boolean
}

export function Keys({ keys, nowMs, areOwn = false }: KeysProps) {
  return (
    <Table
      label="Keys"
      empty="There is no key."
      rows={keys}
      columns={[
        { heading: 'Key', cell: ({ name, prefix }) => <Name of={name} detail={`${prefix}…`} /> },
        { heading: 'Last used', kind: 'extra', cell: ({ last_used_at: at }) => moment(at) },
        { heading: 'State', cell: (key) => keyState(key, nowMs) },
        ...(areOwn
          ? [{ heading: 'Change', cell: (key: OwnKey) => <Changes of={key} isOver={isOver(key, nowMs)} /> }]
          : []),
      ]}
    />
  )
}

function isOver({ revoked_at: revoked, expires_at: ends }: OwnKey, nowMs: number): boolean {
  return revoked !== null || (ends !== null && Date.parse(ends) <= nowMs)
}

function keyState(key: OwnKey, nowMs: number): string {
  const { revoked_at: revoked, expires_at: ends } = key
  if (revoked !== null) return `revoked ${shortDay(revoked.slice(0, 10))}`
  if (ends === null) return 'active'
  return `${isOver(key, nowMs) ? 'ended' : 'until'} ${shortDay(ends.slice(0, 10))}`
}

/** Of one that has an end: those that an operator made without one are the operator's. */
function Changes({
  of: { id, name, expires_at: ends },
  isOver,
}: {
  readonly of: OwnKey
  readonly isOver: boolean
}) {
  // One that is rotated without an overlap is over at once, and its dialog still shows the new one.
  const [wasOver] = useState(isOver)
  if (wasOver || ends === null) return null
  return (
    <span class="actions">
      <Action<MadeKey>
        label="Rotate"
        path={`keys/${id}/rotate`}
        fields={[{ name: 'overlap', label: 'The old one goes on for', hint: 'such as 1h; empty: 24h' }]}
        says={
          <>
            A like key takes the place of <Name of={name} />, with its budget.
          </>
        }
        shows={showKey}
      />
      <Action
        label="Revoke"
        path={`keys/${id}/revoke`}
        says={
          <>
            <Name of={name} /> is refused within a second, for good.
          </>
        }
        isGrave
      />
    </span>
  )
}
