import { linkTo, pathPart, type Query } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Choice, Filter } from '../../shared/controls.tsx'
import { DayField, Facts, Usd } from '../../shared/figures.tsx'
import { count, milliseconds, moment, words } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Call, CostOfCall } from '../answers.ts'

const LIVE_MS = 2_000

/** Single calls, the newest first, and what each cost line by line. */
export function CallsView() {
  const { query } = address.value
  const { id, client, key, model, upstream, failed, hours, live, from, to, cursor } = query
  return (
    <>
      <div class="controls">
        <Filter label="Client" value={client ?? ''} onChoose={(name) => choose({ client: name })} />
        <Filter label="Key id" value={key ?? ''} onChoose={(name) => choose({ key: name })} />
        <Filter label="Model" value={model ?? ''} onChoose={(name) => choose({ model: name })} />
        <Filter label="Upstream" value={upstream ?? ''} onChoose={(name) => choose({ upstream: name })} />
        <DayField label="From" name="from" query={query} />
        <DayField label="To" name="to" query={query} />
        <Choice
          label="Hours"
          options={[
            { value: '', label: 'Days' },
            { value: '1', label: 'Last hour' },
          ]}
          chosen={hours ?? ''}
          onChoose={(some) => choose({ hours: some, from: undefined, to: undefined })}
        />
        <Choice
          label="Failed"
          options={[
            { value: '', label: 'All' },
            { value: 'true', label: 'Failed' },
          ]}
          chosen={failed ?? ''}
          onChoose={(some) => choose({ failed: some })}
        />
        <Choice
          label="Asked again"
          options={[
            { value: '', label: 'Every 10 s' },
            { value: '1', label: 'Live' },
          ]}
          chosen={live ?? ''}
          onChoose={(some) => choose({ live: some })}
        />
        <Filter
          label="One call, by its id or that of its answer"
          value={id ?? ''}
          onChoose={(one) => choose({ id: one })}
        />
      </div>
      {id !== undefined && <OneCall id={id} />}
      <Part<readonly Call[]>
        title={titleOf(query)}
        path="calls"
        choices={{ client, key, model, upstream, failed, hours, from, to, cursor, limit: 50 }}
        everyMs={live === undefined ? 10_000 : LIVE_MS}
      >
        {(calls, { next }) => <CallTable calls={calls} next={next} />}
      </Part>
    </>
  )
}

function titleOf({ from, hours, failed }: Query): string {
  const what = failed === undefined ? 'Calls' : 'Failed calls'
  const when = hours !== undefined ? ' of the last hour' : from === undefined ? ' of seven days' : ''
  return `${what}${when}, the newest first`
}

function CallTable({ calls, next }: { readonly calls: readonly Call[]; readonly next: string | null }) {
  const { query } = address.value
  const tokens = (number: number | null) => (number === null ? '–' : count(number))
  return (
    <Table
      label="Calls"
      empty="No such call is kept."
      rows={calls}
      next={next}
      file="calls.csv"
      columns={[
        {
          heading: 'Arrived',
          cell: ({ id, arrived_at: at, path }) => (
            <>
              <a href={linkTo('calls', { ...query, id })}>{moment(at)}</a>
              <small class="belonging">
                <bdi>{path}</bdi>
              </small>
            </>
          ),
          value: ({ arrived_at: at }) => at,
        },
        { heading: 'Id', cell: () => null, kind: 'none', value: ({ id }) => id },
        {
          heading: 'Client',
          kind: 'text',
          cell: ({ client, key_name: name, key_id: key }) => (
            <a href={linkTo('calls', { ...query, client, cursor: undefined })}>
              <Name of={client} detail={name ?? key} />
            </a>
          ),
          value: ({ client }) => client,
        },
        {
          heading: 'Model',
          kind: 'text',
          cell: ({ model, upstream }) => (
            <a href={linkTo('calls', { ...query, model, cursor: undefined })}>
              <Name of={model} detail={upstream} />
            </a>
          ),
          value: ({ model }) => model,
        },
        {
          heading: 'Status',
          cell: ({ status, outcome }) =>
            outcome === 'complete' ? (status ?? '–') : <span class="badge">{status ?? words(outcome)}</span>,
          value: ({ status }) => status,
        },
        {
          heading: 'Tokens',
          kind: 'extra',
          cell: ({ input_tokens: input, output_tokens: output }) =>
            `${tokens(input)} in, ${tokens(output)} out`,
        },
        {
          heading: 'Took',
          kind: 'extra',
          cell: ({ latency_ms: ms }) => (ms === null ? '–' : milliseconds(ms)),
          value: ({ latency_ms: ms }) => ms,
        },
        {
          heading: 'Cost, USD',
          kind: 'main',
          cell: ({ cost_usd: cost }) => (cost === null ? 'no price' : <Usd of={cost} />),
          value: ({ cost_usd: cost }) => cost,
        },
      ]}
    />
  )
}

/** What a call used and cost, line by line, and at which price. */
function OneCall({ id }: { readonly id: string }) {
  return (
    <Part<readonly CostOfCall[]>
      title="What it cost"
      path={`calls/${pathPart(id)}/cost`}
      everyMs={60_000}
      actions={
        <button type="button" class="plain link" onClick={() => choose({ id: undefined })}>
          Close
        </button>
      }
    >
      {(calls) => calls.map((call) => <Receipt key={call.call_id} call={call} />)}
    </Part>
  )
}

function Receipt({ call }: { readonly call: CostOfCall }) {
  const { price, components, cost_usd: cost, unpriced_reason: reason } = call
  return (
    <>
      <Facts
        of={[
          ['Call', call.call_id],
          ['Answer', call.response_id],
          ['Arrived, UTC', moment(call.arrived_at)],
          ['Client', call.client],
          ['Upstream', `${call.upstream} (${call.provider})`],
          ['Model', call.model],
          ['Status', call.status],
          ['Ended', words(call.outcome)],
          ['Counts are', words(call.usage_source)],
          [
            'Priced by',
            price === null
              ? null
              : `${price.source ?? 'the configuration'}, ${price.model ?? price.price_id}`,
          ],
          ['Price since', price?.from ?? null],
          ['Tier', price?.service_tier ?? null],
          ['Factor', price?.factor ?? null],
        ]}
      />
      <Table
        label="Lines of its cost"
        empty={`It has no price: ${reason === null ? 'not known why' : words(reason)}.`}
        rows={components}
        file={`call-${call.call_id}.csv`}
        columns={[
          { heading: 'What', cell: ({ name }) => <Name of={words(name)} />, value: ({ name }) => name },
          { heading: 'Quantity', cell: ({ quantity }) => count(quantity), value: ({ quantity }) => quantity },
          {
            heading: 'Unit price, USD',
            cell: ({ unit_price_usd: rate, unit }) => (rate === null ? '–' : `${rate} ${unit}`),
            value: ({ unit_price_usd: rate }) => rate,
          },
          {
            heading: 'Amount, USD',
            kind: 'main',
            cell: ({ amount_usd: amount }) => amount,
            value: ({ amount_usd: amount }) => amount,
          },
        ]}
      />
      <p class="total">
        In all: <b>{cost === null ? `no price (${words(reason ?? 'not known')})` : `${cost} USD`}</b>
      </p>
      {call.usage !== null && (
        <details>
          <summary>The usage as the provider wrote it</summary>
          <pre>{call.usage}</pre>
        </details>
      )}
    </>
  )
}
