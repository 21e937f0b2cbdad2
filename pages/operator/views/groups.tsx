import { Action, type FormField } from '../../shared/action.tsx'
import { linkTo, pathPart } from '../../shared/address.ts'
import { address, useAnswer } from '../../shared/context.tsx'
import type { Option } from '../../shared/controls.tsx'
import { MonthField, Usd } from '../../shared/figures.tsx'
import { count, roughly, shortDay, thisMonth } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Group, GroupStatement, GroupUsage } from '../answers.ts'

type GroupUse = GroupUsage['groups'][number]

/** Groups of clients as a tree, with what each used in a month; and of one of them, who was in it on which days. */
export function GroupsView() {
  const { month = thisMonth(), group } = address.value.query
  const inForce = useAnswer<readonly Group[]>('groups', {}, 60_000).data ?? []
  const options = inForce.map(({ id, name }) => ({ value: id, label: name }))
  return (
    <>
      <div class="controls">
        <MonthField month={month} />
        <Action
          label="Make a group"
          path="groups"
          fields={[
            { name: 'name', label: 'Name', isRequired: true },
            { name: 'into', label: 'In', options: [{ value: '', label: 'no other group' }, ...options] },
          ]}
          says="It has no clients yet: they are moved into it."
          isMain
        />
      </div>
      <Part<GroupUsage> title={`Groups in ${month}`} path="groups/usage" choices={{ period: month }}>
        {(usage) => <GroupTable usage={usage} month={month} options={options} />}
      </Part>
      {group !== undefined && <Members group={group} month={month} />}
    </>
  )
}

interface GroupTableProps {
  readonly usage: GroupUsage
  readonly month: string
  /** The groups that are in force. */
  readonly options: readonly Option[]
}

function GroupTable({ usage: { from, to, groups }, month, options }: GroupTableProps) {
  return (
    <Table
      label="Groups"
      empty="There is no group."
      rows={groups}
      file={`groups-${month}.csv`}
      columns={[
        {
          heading: 'Group',
          cell: ({ id, name, level }) =>
            id === null ? (
              <span class="quiet">in no group</span>
            ) : (
              <div style={{ paddingLeft: `${level - 1}em` }}>
                <a href={linkTo('explore', { from, to, group: id, group_by: 'group' })}>
                  <Name of={name ?? id} />
                </a>
              </div>
            ),
          value: ({ name }) => name,
        },
        { heading: 'Id', cell: () => null, kind: 'none', value: ({ id }) => id },
        { heading: 'In', cell: () => null, kind: 'none', value: ({ parent_id: id }) => id },
        {
          heading: 'Cost',
          kind: 'main',
          cell: ({ cost_usd_text: cost }) => <Usd of={cost} />,
          value: ({ cost_usd_text: cost }) => cost,
        },
        {
          heading: 'Its own clients',
          kind: 'extra',
          cell: ({ own_cost_usd_text: cost }) => <Usd of={cost} />,
          value: ({ own_cost_usd_text: cost }) => cost,
        },
        {
          heading: 'Requests',
          cell: ({ requests }) => count(requests),
          value: ({ requests }) => requests,
        },
        {
          heading: 'Tokens',
          kind: 'extra',
          cell: ({ total_tokens: tokens }) => roughly(tokens),
          value: ({ total_tokens: tokens }) => tokens,
        },
        {
          heading: 'Members',
          cell: ({ id, clients }) =>
            id !== null && (
              <span class="actions">
                <a href={linkTo('clients', { group: id })}>{count(clients)} now</a>
                <a href={linkTo('groups', { month, group: id })}>by days</a>
                <a href={linkTo('audit', { of: id })}>changes</a>
              </span>
            ),
          value: ({ clients }) => clients,
        },
        {
          heading: 'Change',
          // One that has ended is shown for what was used in it.
          cell: (group) =>
            options.some(({ value }) => value === group.id) && <Changes group={group} options={options} />,
        },
      ]}
    />
  )
}

interface ChangesProps {
  readonly group: GroupUse
  readonly options: readonly Option[]
}

function Changes({ group: { id, name, parent_id: parent }, options }: ChangesProps) {
  const path = `groups/${id}`
  const others = options.filter(({ value }) => value !== id)
  return (
    <span class="actions">
      <Moves path={path} name={name ?? ''} others={others} parent={parent} />
      <Action
        label="Rename"
        path={`${path}/rename`}
        fields={[{ name: 'name', label: 'Name', value: name ?? '', isRequired: true }]}
        says="Its members, its limits and its usage stay."
      />
      <Action
        label="End"
        method="DELETE"
        path={`${path}?none=true`}
        says={
          <>
            <Name of={name} /> ends today, and what is in it goes into no group. What was used in it before
            stays its own.
          </>
        }
        isGrave
      />
    </span>
  )
}

interface MovesProps {
  /** Of the client or group that moves. */
  readonly path: string
  readonly name: string
  /** Where it may go; absent: that is written. */
  readonly others?: readonly Option[]
  /** Where it is; `null`: nowhere, so it cannot leave. */
  readonly parent: string | null
}

const FROM: FormField = { name: 'from', label: 'From the day', hint: 'such as 2026-11-01; empty: today' }

/** Moves of a client or a group, each from a day on. */
export function Moves({ path, name, others, parent }: MovesProps) {
  const into = { name: 'into', label: 'Into the group', value: parent ?? '', isRequired: true }
  return (
    <>
      <Action
        label="Move"
        path={`${path}/move`}
        fields={[others === undefined ? into : { ...into, options: others }, FROM]}
        says={
          <>
            <Name of={name} /> is in this group from the day on. What was used before stays where it was.
          </>
        }
      />
      {parent !== null && (
        <Action
          label="Take out"
          path={`${path}/move`}
          fixed={{ none: true }}
          fields={[FROM]}
          says={
            <>
              <Name of={name} /> is in no group from the day on. What was used before stays where it was.
            </>
          }
        />
      )}
    </>
  )
}

/** Who used something in a group, on which days of the month it was there, and what that cost. */
function Members({ group, month }: { readonly group: string; readonly month: string }) {
  return (
    <Part<GroupStatement>
      title="Who was in the group, and when"
      path={`groups/${pathPart(group)}/statements/${pathPart(month)}`}
      everyMs={60_000}
    >
      {({ group: name, members, requests, charges, cost_usd: cost, total_usd: total }) => (
        <>
          <p class="quiet">
            <Name of={name} />, {month}: {count(requests)} requests, <Usd of={cost} />
            {charges.length > 0 && (
              <>
                , with charges <Usd of={total} />
              </>
            )}
          </p>
          <Table
            label="Members"
            empty="No client used anything in it in this month."
            rows={members}
            file={`group-${group}-${month}.csv`}
            columns={[
              {
                heading: 'Client',
                cell: ({ client, client_id: id, from, to }) => (
                  <a href={linkTo('explore', { from, to, client: client ?? undefined, group_by: 'model' })}>
                    <Name of={client ?? id} />
                  </a>
                ),
                value: ({ client, client_id: id }) => client ?? id,
              },
              {
                heading: 'In',
                kind: 'text',
                cell: ({ part }) => <Name of={part} />,
                value: ({ part }) => part,
              },
              {
                heading: 'Days',
                kind: 'text',
                cell: ({ from, to }) => `${shortDay(from)} to ${shortDay(to)}`,
              },
              { heading: 'From', cell: () => null, kind: 'none', value: ({ from }) => from },
              { heading: 'To', cell: () => null, kind: 'none', value: ({ to }) => to },
              {
                heading: 'Requests',
                cell: ({ requests: calls }) => count(calls),
                value: ({ requests: calls }) => calls,
              },
              {
                heading: 'Cost',
                kind: 'main',
                cell: ({ cost_usd: own }) => <Usd of={own} />,
                value: ({ cost_usd: own }) => own,
              },
            ]}
          />
        </>
      )}
    </Part>
  )
}
