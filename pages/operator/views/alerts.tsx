import { Action, Secret } from '../../shared/action.tsx'
import { moment, words } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Receiver } from '../answers.ts'

interface MadeReceiver {
  readonly secret?: string
}

interface Tested {
  readonly delivered: boolean
  readonly status: number | null
  readonly error: string | null
}

const FORMATS = [
  { value: 'generic', label: 'JSON' },
  { value: 'slack', label: 'Slack' },
]
const listOf = (text: string) => text.split(/[\s,]+/).filter((one) => one !== '')

/** Who gets alerts, about what, and how the last delivery went. */
export function AlertsView() {
  return (
    <Part<readonly Receiver[]>
      title="Receivers of alerts"
      path="alerts"
      actions={
        <Action<MadeReceiver>
          label="Add a receiver"
          path="alerts"
          fields={[
            { name: 'url', label: 'URL', isRequired: true },
            { name: 'on', label: 'Kinds', hint: 'budget, gap, backlog, …', isRequired: true, read: listOf },
            { name: 'format', label: 'Format', options: FORMATS },
            {
              name: 'thresholds',
              label: 'Percents of budgets',
              hint: '80, 100',
              read: (text) => listOf(text).map(Number),
            },
            { name: 'client', label: 'Client', hint: 'empty: all' },
          ]}
          says="Alerts are posted there, signed."
          shows={({ secret }) =>
            secret === undefined ? (
              <p>It is added.</p>
            ) : (
              <Secret what="The secret that signs them." of={secret} />
            )
          }
          isMain
        />
      }
    >
      {(receivers) => (
        <Table
          label="Receivers"
          empty="Nobody gets alerts."
          rows={receivers}
          columns={[
            {
              heading: 'Receiver',
              cell: ({ url, format, client }) => (
                <Name of={url} detail={[format, client].filter((one) => one !== null).join(' · ')} />
              ),
            },
            { heading: 'About', kind: 'text', cell: ({ on }) => on.map(words).join(', ') },
            {
              heading: 'Last delivery',
              kind: 'text',
              cell: ({ last_delivery: last }) =>
                last === null
                  ? 'none yet'
                  : `${words(last.state)}, ${moment(last.tried_at)}${last.error === null ? '' : `: ${last.error}`}`,
            },
            { heading: 'Change', cell: ({ id, url }) => <Changes id={id} url={url} /> },
          ]}
        />
      )}
    </Part>
  )
}

function Changes({ id, url }: { readonly id: string; readonly url: string }) {
  return (
    <span class="actions">
      <Action<Tested>
        label="Try"
        path={`alerts/${id}/test`}
        says="A signed sample is sent now, once."
        shows={({ delivered, status, error }) => (
          <p>
            {delivered ? 'It was taken' : 'It was not taken'}
            {status !== null && `, with ${status}`}
            {error !== null && `: ${error}`}.
          </p>
        )}
      />
      <Action
        label="Remove"
        method="DELETE"
        path={`alerts/${id}`}
        says={
          <>
            <Name of={url} /> gets no more alerts.
          </>
        }
        isGrave
      />
    </span>
  )
}
