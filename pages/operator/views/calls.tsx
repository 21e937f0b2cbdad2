import { linkTo, pathPart } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Filter } from '../../shared/controls.tsx'
import { DayField, Usd } from '../../shared/figures.tsx'
import { count, milliseconds, moment, words } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Call, CostOfCall } from '../answers.ts'

/** Single calls, the newest first, and what each cost line by line. */
export function CallsView() {
  const { query } = address.value
  const { id, client, key, model, from, to, cursor } = query
  return (
    <>
      <div class="controls">
        <Filter label="Client" value={client ?? ''} onChoose={(name) => choose({ client: name })} />
        <Filter label="Key id" value={key ?? ''} onChoose={(name) => choose({ key: name })} />
        <Filter label="Model" value={model ?? ''} onChoose={(name) => choose({ model: name })} />
        <DayField label="From" name="from" query={query} />
        <DayField label="To" name="to" query={query} />
        <Filter
          label="One call, by its id or that of its answer"
          value={id ?? ''}
          onChoose={(one) => choose({ id: one })}
        />
      </div>
      {id !== undefined && <OneCall id={id} />}
      <Part<readonly Call[]>
        title={from === undefined ? 'Calls of seven days, the newest first' : 'Calls, the newest first'}
        path="calls"
        choices={{ client, key, model, from, to, cursor, limit: 50 }}
        everyMs={10_000}
      >
        {(calls, { next }) => <CallTable calls={calls} next={next} />}
      </Part>
    </>
  )
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
  const facts: readonly (readonly [string, string | number | null])[] = [
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
      price === null ? null : `${price.source ?? 'the configuration'}, ${price.model ?? price.price_id}`,
    ],
    ['Price since', price?.from ?? null],
    ['Tier', price?.service_tier ?? null],
    ['Factor', price?.factor ?? null],
  ]
  return (
    <>
      <dl class="facts">
        {facts.map(([label, value]) =>
          value === null ? null : (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                <bdi>{value}</bdi>
              </dd>
            </div>
          ),
        )}
      </dl>
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
