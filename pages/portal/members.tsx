import { Action } from '../shared/action.tsx'
import { Usd } from '../shared/figures.tsx'
import { moment, shortDay } from '../shared/format.ts'
import { Name, Part } from '../shared/part.tsx'
import { Table } from '../shared/table.tsx'
import { account, useAccount } from './account.ts'
import type { Member } from './answers.ts'

/** The members of a group, as its owners see them: what they spent, their keys by name, and their budgets. */
export function MembersView() {
  useAccount()
  const group = account.value?.member?.group ?? ''
  return (
    <Part<readonly Member[]>
      title={`Members of ${group}, this month`}
      path="members"
      choices={{ limit: 500 }}
    >
      {(members, { next }) => (
        <Table
          label="Members"
          empty="Nobody signed in yet."
          rows={members}
          next={next}
          file="members.csv"
          columns={[
            {
              heading: 'Member',
              cell: ({ name, owner, disabled, signed_in_at: at }) => (
                <>
                  <Name of={name} detail={`signed in ${moment(at)}`} />
                  {owner && <span class="badge">owner</span>}
                  {disabled && <span class="badge">disabled</span>}
                </>
              ),
              value: ({ name }) => name,
            },
            {
              heading: 'Keys',
              kind: 'extra',
              cell: ({ keys, keys_end_at: end }) =>
                keys.length === 0 ? (
                  'none'
                ) : (
                  <Name
                    of={keys.map(({ name }) => name).join(', ')}
                    detail={`until ${shortDay(end.slice(0, 10))}`}
                  />
                ),
              value: ({ keys }) => keys.map(({ name }) => name).join(', '),
            },
            {
              heading: 'Spent',
              kind: 'main',
              cell: ({ spent_usd: spent }) => <Usd of={spent} />,
              value: ({ spent_usd: spent }) => spent,
            },
            {
              heading: 'Budget',
              cell: ({ budget_usd: budget }) => (budget === null ? 'none' : <Usd of={budget} />),
              value: ({ budget_usd: budget }) => budget,
            },
            { heading: 'Change', cell: (member) => <Changes of={member} /> },
          ]}
        />
      )}
    </Part>
  )
}

function Changes({ of: { id, name, budget_usd: budget, disabled } }: { readonly of: Member }) {
  return (
    <span class="actions">
      <Action
        label="Budget"
        method="PUT"
        path={`members/${id}/budget`}
        fields={[
          {
            name: 'budget_usd',
            label: 'US dollars a month',
            value: budget ?? '',
            isRequired: true,
          },
        ]}
        says={
          <>
            Calls of <Name of={name} /> may cost this much a calendar month, with all of its keys together.
          </>
        }
      />
      {!disabled && (
        <Action
          label="Disable"
          path={`members/${id}/disable`}
          says={
            <>
              All keys of <Name of={name} /> are refused within a second. Only an operator allows them again.
            </>
          }
          isGrave
        />
      )}
    </span>
  )
}
