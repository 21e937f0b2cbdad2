import { Action, Secret } from '../../shared/action.tsx'
import { address, choose } from '../../shared/context.tsx'
import { Filter, optionOf } from '../../shared/controls.tsx'
import { DayField } from '../../shared/figures.tsx'
import { moment } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Audited, Token } from '../answers.ts'

interface MadeToken {
  readonly token: string
}

/** Who changed what, and who may. */
export function AuditView() {
  const { query } = address.value
  const { who, operation, of, from, to, cursor } = query
  return (
    <>
      <div class="controls">
        <Filter label="Who" value={who ?? ''} onChoose={(name) => choose({ who: name })} />
        <Filter label="Operation" value={operation ?? ''} onChoose={(name) => choose({ operation: name })} />
        <Filter label="Id of what was changed" value={of ?? ''} onChoose={(id) => choose({ of: id })} />
        <DayField label="From" name="from" query={query} />
        <DayField label="To" name="to" query={query} />
      </div>
      <Part<readonly Audited[]>
        title="Changes, the newest first"
        path="audit"
        choices={{ who, operation, of, from, to, cursor, limit: 50 }}
      >
        {(changes, { next }) => <AuditTable changes={changes} next={next} />}
      </Part>
      <Part<readonly Token[]>
        title="Tokens of operators"
        path="tokens"
        actions={
          <Action<MadeToken>
            label="Make a token"
            path="tokens"
            fields={[
              { name: 'name', label: 'Name', isRequired: true },
              { name: 'role', label: 'Role', options: ['read', 'write', 'admin'].map(optionOf) },
              { name: 'expires_in', label: 'Ends after', hint: 'such as 30d; empty: 90d' },
            ]}
            says="It opens this page and /admin/v1, as far as its role goes."
            shows={({ token }) => <Secret what="The token." of={token} />}
            isMain
          />
        }
      >
        {(tokens) => <TokenTable tokens={tokens} nowMs={Date.now()} />}
      </Part>
    </>
  )
}

function AuditTable({
  changes,
  next,
}: {
  readonly changes: readonly Audited[]
  readonly next: string | null
}) {
  return (
    <Table
      label="Changes"
      empty="Nothing was changed."
      rows={changes}
      next={next}
      file="audit.csv"
      columns={[
        { heading: 'When', cell: ({ at }) => moment(at), value: ({ at }) => at },
        {
          heading: 'Who',
          kind: 'text',
          cell: ({ who, from }) => <Name of={who} detail={from} />,
          value: ({ who }) => who,
        },
        { heading: 'From', cell: () => null, kind: 'none', value: ({ from }) => from },
        {
          heading: 'What',
          kind: 'text',
          cell: ({ operation, about }) => (
            <Name of={operation} detail={about === null ? '' : fieldsText(about)} />
          ),
          value: ({ operation }) => operation,
        },
        {
          heading: 'Rows',
          kind: 'text',
          cell: ({ changes: rows }) =>
            rows.map(({ what, id, before, after }) => (
              <small key={`${what} ${id}`} class="belonging">
                <bdi>
                  {what} {id}: {before === null ? 'made' : fieldsText(before)} →{' '}
                  {after === null ? 'deleted' : fieldsText(after)}
                </bdi>
              </small>
            )),
        },
      ]}
    />
  )
}

function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

function TokenTable({ tokens, nowMs }: { readonly tokens: readonly Token[]; readonly nowMs: number }) {
  return (
    <Table
      label="Tokens"
      empty="There is no token but ADMIN_TOKEN."
      rows={tokens}
      columns={[
        { heading: 'Token', cell: ({ name, prefix }) => <Name of={name} detail={`${prefix}…`} /> },
        { heading: 'Role', kind: 'text', cell: ({ role }) => role },
        {
          heading: 'State',
          kind: 'text',
          cell: ({ revoked_at: revoked, expires_at: ends }) =>
            revoked !== null
              ? `revoked ${moment(revoked)}`
              : `${Date.parse(ends) <= nowMs ? 'ended' : 'until'} ${moment(ends)}`,
        },
        {
          heading: 'Change',
          cell: ({ id, name, revoked_at: revoked }) =>
            revoked === null && (
              <Action
                label="Revoke"
                path={`tokens/${id}/revoke`}
                says={
                  <>
                    <Name of={name} /> is refused within a second, for good.
                  </>
                }
                isGrave
              />
            ),
        },
      ]}
    />
  )
}
