import { Action } from '../../shared/action.tsx'
import { linkTo, pathPart } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Filter } from '../../shared/controls.tsx'
import { Facts, MonthField, Usd } from '../../shared/figures.tsx'
import { count, moment, shortDays, thisMonth, words } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { save, Table } from '../../shared/table.tsx'
import type { ClosedMonth, StatedMonth } from '../answers.ts'

/** What a client owes for a month, line by line; and the months that are closed. */
export function StatementsView() {
  const { client, month } = address.value.query
  return (
    <>
      <div class="controls">
        <Filter label="Client" value={client ?? ''} onChoose={(name) => choose({ client: name })} />
        <MonthField month={month ?? thisMonth()} />
      </div>
      {client !== undefined && (
        <Part<StatedMonth>
          title={`Statement of ${month ?? thisMonth()}`}
          path={`clients/${pathPart(client)}/statements/${pathPart(month ?? thisMonth())}`}
          everyMs={60_000}
        >
          {(stated) => <Statement stated={stated} />}
        </Part>
      )}
      <Part<readonly ClosedMonth[]>
        title="Closed months"
        path="statements"
        choices={{ client, month }}
        everyMs={60_000}
      >
        {(months) => (
          <Table
            label="Closed months"
            empty="No such month is closed."
            rows={months}
            file="closed-months.csv"
            columns={[
              {
                heading: 'Client',
                cell: ({ client: name, client_id: id, month: closed }) => (
                  <a href={linkTo('statements', { client: id, month: closed })}>
                    <Name of={name} />
                  </a>
                ),
                value: ({ client: name }) => name,
              },
              { heading: 'Month', kind: 'text', cell: (row) => row.month, value: (row) => row.month },
              {
                heading: 'Owed',
                kind: 'main',
                cell: ({ total_usd: total }) => <Usd of={total} />,
                value: ({ total_usd: total }) => total,
              },
              {
                heading: 'Closed',
                kind: 'text',
                cell: ({ closed_at: at, closed_by: who }) => <Name of={moment(at)} detail={who} />,
                value: ({ closed_at: at }) => at,
              },
              {
                heading: 'SHA-256',
                cell: () => null,
                kind: 'none',
                value: ({ sha256 }) => sha256,
              },
            ]}
          />
        )}
      </Part>
    </>
  )
}

function Statement({ stated }: { readonly stated: StatedMonth }) {
  const { statement, provisional, sha256 } = stated
  const { client, month, requests, unpriced, closed_at: closedAt } = statement
  return (
    <>
      {provisional.length > 0 && (
        <ul class="notice note" aria-label="What may still change it">
          {provisional.map(({ name, says }) => (
            <li key={name}>{says}</li>
          ))}
        </ul>
      )}
      <Facts
        of={[
          ['Client', client],
          ['State', closedAt === null ? 'open: its figures may change' : `closed ${moment(closedAt)} UTC`],
          ['Calls', count(requests)],
          ['Calls, USD', statement.cost_usd],
          ['Charges, USD', statement.charges_usd ?? null],
          ['SHA-256', sha256],
        ]}
      />
      <Table
        label="Lines"
        empty="Nothing is owed for this month."
        rows={linesOf(statement)}
        file={`statement-${statement.client_id}-${month}.csv`}
        columns={[
          {
            heading: 'What',
            cell: ({ what, detail }) => <Name of={what} detail={detail} />,
            value: ({ what }) => what,
          },
          { heading: 'Detail', cell: () => null, kind: 'none', value: ({ detail }) => detail },
          {
            heading: 'Quantity',
            cell: ({ quantity }) => (typeof quantity === 'number' ? count(quantity) : quantity),
            value: ({ quantity }) => quantity,
          },
          {
            heading: 'Unit price, USD',
            kind: 'extra',
            cell: ({ price }) => price,
            value: ({ price }) => price,
          },
          {
            heading: 'Amount, USD',
            kind: 'main',
            cell: ({ amount }) => amount,
            value: ({ amount }) => amount,
          },
        ]}
      />
      {unpriced.length > 0 && (
        <p class="quiet">
          Not charged, as it has no price:{' '}
          {unpriced.map(({ model, upstream, calls }, index) => (
            <span key={`${model} ${upstream}`}>
              {index > 0 && ', '}
              {count(calls)} of <Name of={model} /> at <Name of={upstream} />
            </span>
          ))}
          .
        </p>
      )}
      <p class="total">
        In all: {statement.total_usd} USD, to be paid: <b>{statement.rounded_usd} USD</b>
      </p>
      <p class="below">
        <Close stated={stated} />
        <button
          type="button"
          class="plain link"
          onClick={() => save(`statement-${statement.client_id}-${month}.json`, fileOf(stated))}
        >
          Download as it is checked
        </button>
      </p>
    </>
  )
}

/** As `statement show --json` writes it, which `statement verify` reads. */
function fileOf(stated: StatedMonth): Blob {
  return new Blob([`${JSON.stringify(stated, null, 2)}\n`], { type: 'application/json' })
}

/** What may still change a month is named before it is taken as it is. */
function Close({ stated: { statement, provisional } }: { readonly stated: StatedMonth }) {
  const { client, client_id: id, month, closed_at: closedAt } = statement
  const accepted = provisional.map(({ name }) => name)
  if (closedAt !== null || accepted.includes('month_not_over')) return null
  return (
    <Action
      label="Close the month"
      path={`clients/${id}/statements/${month}`}
      fixed={accepted.length === 0 ? {} : { accepted }}
      says={
        <>
          {month} of <Name of={client} /> is signed, and never changes. What comes to it later is a line of
          the next month.{accepted.length > 0 && ` Taken as it is: ${accepted.map(words).join(', ')}.`}
        </>
      }
      isGrave
    />
  )
}

interface Line {
  readonly what: string
  readonly detail: string
  /** With its unit: that of a charge. */
  readonly quantity: number | string
  readonly price: string
  readonly amount: string
}

/** All that adds up to what is owed. */
function linesOf({ lines, corrections, charges = [], carried }: StatedMonth['statement']): readonly Line[] {
  const none = { quantity: '', price: '' }
  return [
    ...lines.map((line) => ({
      what: line.model,
      detail: [
        line.upstream,
        words(line.name),
        line.service_tier,
        line.factor === null ? null : `× ${line.factor}`,
      ]
        .filter((part) => part !== null)
        .join(' · '),
      quantity: line.quantity,
      price: line.unit_price_usd === null ? '–' : `${line.unit_price_usd} ${line.unit}`,
      amount: line.amount_usd,
    })),
    ...corrections.map(({ id, kind, why, amount_usd: amount }) => ({
      ...{ what: `${words(kind)}: ${why}`, detail: `correction ${id}`, amount },
      ...none,
    })),
    ...charges.map(({ service, category, from, to, reason, quantity, unit, amount_usd: amount }) => ({
      what: service,
      detail: `${words(category)} · ${shortDays(from, to)} · ${reason}`,
      quantity: quantity === null ? '' : `${quantity} ${unit ?? ''}`,
      price: '',
      amount,
    })),
    ...carried.map(({ month, amount_usd: amount }) => ({
      ...{ what: `Since ${month} was closed`, detail: 'carried over', amount },
      ...none,
    })),
  ]
}
