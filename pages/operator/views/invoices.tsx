import { isTooMuch } from '../../../src/corrections/invoices/match/differences.ts'
import { parseUsdText } from '../../../src/domain/pico-usd.ts'
import { Action } from '../../shared/action.tsx'
import { linkTo, type Query } from '../../shared/address.ts'
import { address, choose, useAnswer } from '../../shared/context.tsx'
import { Select } from '../../shared/controls.tsx'
import { Facts, MonthField, Usd } from '../../shared/figures.tsx'
import { count, fullMonth, moment, plural, shortDays, thisMonth, words } from '../../shared/format.ts'
import { Card, Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { InvoiceImport, Reconciliation } from '../answers.ts'

const IMPORTS_MS = 60_000
/** All calls of a month are added up for it. */
const COMPARED_MS = 600_000

/** What providers say that was used in a month, held against what was counted; and what was imported. */
export function InvoicesView() {
  const imports = useAnswer<readonly InvoiceImport[]>('invoices', {}, IMPORTS_MS).data ?? []
  return (
    <>
      {imports.length > 0 && <OneInvoice imports={imports} query={address.value.query} />}
      <Part<readonly InvoiceImport[]> title="Imported" path="invoices" everyMs={IMPORTS_MS}>
        {(all) => <ImportTable imports={all} />}
      </Part>
    </>
  )
}

interface OneInvoiceProps {
  readonly imports: readonly InvoiceImport[]
  readonly query: Query
}

/** Without a choice it is that of the newest import. */
function OneInvoice({ imports, query }: OneInvoiceProps) {
  const fitting = imports.find((one) => isOf(one, query)) ?? imports[0]
  const provider = query.provider ?? fitting?.providers[0] ?? ''
  const month = query.month ?? fitting?.to.slice(0, 7) ?? thisMonth()
  const isCovered = imports.some((one) => isOf(one, { provider, month }))
  const names = new Set([...imports.flatMap(({ providers }) => providers), provider])
  const title = 'An invoice and what was counted'
  return (
    <>
      <div class="controls">
        <MonthField month={month} />
        <Select
          label="Provider"
          options={[...names].sort().map((name) => ({ value: name, label: name }))}
          chosen={provider}
          onChoose={(name) => choose({ provider: name })}
        />
      </div>
      {isCovered ? (
        <Part<Reconciliation>
          title={title}
          path="reconcile"
          choices={{ provider, month }}
          everyMs={COMPARED_MS}
        >
          {(compared) => <Compared compared={compared} />}
        </Part>
      ) : (
        <Card title={title}>
          <p class="empty">
            No invoice of <Name of={provider} /> covers a day of <Name of={month} />.
          </p>
        </Card>
      )}
    </>
  )
}

/** Whether an import is of what was chosen, as far as something was. */
function isOf({ providers, from, to }: InvoiceImport, { provider, month }: Query): boolean {
  return (
    (provider === undefined || providers.some((name) => name === provider)) &&
    (month === undefined || (from.slice(0, 7) <= month && month <= to.slice(0, 7)))
  )
}

function Compared({ compared: { provider, from, to, invoice } }: { readonly compared: Reconciliation }) {
  if (invoice === null) return null
  const { ours_usd: ours, invoice_usd: invoiced, unexplained_usd: unexplained, differences } = invoice
  const sums = { invoicedPico: parseUsdText(invoiced), unexplainedPico: parseUsdText(unexplained) }
  return (
    <>
      <p class="headline">
        {fullMonth(from.slice(0, 7))}, {provider}: ours <Usd of={ours} />, invoice <Usd of={invoiced} />,{' '}
        <b>
          <Usd of={unexplained} /> not explained
        </b>
        .
      </p>
      {isTooMuch(sums) && (
        <p class="notice note">
          Too much of it is not explained: statements of the month stay provisional until it is.
        </p>
      )}
      <Facts
        of={[
          ['Days', shortDays(from, to)],
          ['Ours, USD', ours],
          ['Invoice, USD', invoiced],
          ['Difference, USD', invoice.difference_usd],
          ['Not explained, USD', unexplained],
          ['Explained', explainedOf(sums)],
        ]}
      />
      <Table
        label="Differences"
        empty="Nothing differs."
        rows={differences}
        file={`invoice-${provider}-${from.slice(0, 7)}.csv`}
        columns={[
          { heading: 'Class', cell: (one) => words(one.class), value: (one) => one.class },
          {
            heading: 'Amount',
            kind: 'main',
            cell: ({ amount_usd: amount }) => <Usd of={amount} />,
            value: ({ amount_usd: amount }) => amount,
          },
          {
            heading: 'Model',
            kind: 'text',
            cell: ({ model, remark }) => <Name of={model} detail={remark} />,
            value: ({ model }) => model,
          },
          { heading: 'Remark', cell: () => null, kind: 'none', value: ({ remark }) => remark },
          {
            heading: 'Days',
            kind: 'text',
            cell: (one) => (
              <Name
                of={shortDays(one.from, one.to)}
                detail={one.from === one.to ? '' : plural(one.days, 'day')}
              />
            ),
          },
          { heading: 'From', cell: () => null, kind: 'none', value: (one) => one.from },
          { heading: 'To', cell: () => null, kind: 'none', value: (one) => one.to },
          {
            heading: 'Without signs',
            kind: 'extra',
            cell: ({ gross_usd: gross }) => <Usd of={gross} />,
            value: ({ gross_usd: gross }) => gross,
          },
          { heading: 'What repairs it', cell: () => null, kind: 'none', value: ({ repair }) => repair },
        ]}
      />
      {differences.length > 0 && <p class="quiet">What repairs it</p>}
      <Facts of={[...new Map(differences.map((one) => [words(one.class), one.repair]))]} />
    </>
  )
}

interface InvoiceSums {
  readonly invoicedPico: bigint
  readonly unexplainedPico: bigint
}

/** Rounded down: only all of it is 100%. Of an invoice of nothing there is no part. */
function explainedOf({ invoicedPico, unexplainedPico }: InvoiceSums): string | null {
  if (invoicedPico <= 0n) return null
  const tenThousandths = Number(((invoicedPico - unexplainedPico) * 10_000n) / invoicedPico)
  return `${(Math.max(0, tenThousandths) / 100).toFixed(2)}% of the invoice`
}

function ImportTable({ imports }: { readonly imports: readonly InvoiceImport[] }) {
  return (
    <Table
      label="Imported"
      empty="No invoice was imported. tallygate invoice import takes a file, invoice fetch a provider's report."
      rows={imports}
      file="invoices.csv"
      columns={[
        {
          heading: 'Source',
          cell: ({ source, origin }) => <Name of={source} detail={origin} />,
          value: ({ source }) => source,
        },
        { heading: 'Id', cell: () => null, kind: 'none', value: ({ id }) => id },
        { heading: 'File', cell: () => null, kind: 'none', value: ({ origin }) => origin },
        {
          heading: 'Of',
          kind: 'text',
          cell: ({ providers, to }) =>
            providers.map((provider, index) => (
              <span key={provider}>
                {index > 0 && ', '}
                <a href={linkTo('invoices', { provider, month: to.slice(0, 7) })}>{provider}</a>
              </span>
            )),
          value: ({ providers }) => providers.join(' '),
        },
        { heading: 'Days', kind: 'text', cell: ({ from, to }) => shortDays(from, to) },
        { heading: 'From', cell: () => null, kind: 'none', value: ({ from }) => from },
        { heading: 'To', cell: () => null, kind: 'none', value: ({ to }) => to },
        { heading: 'Rows', cell: ({ rows }) => count(rows), value: ({ rows }) => rows },
        {
          heading: 'Imported',
          kind: 'extra',
          cell: ({ imported_at: at }) => moment(at),
          value: ({ imported_at: at }) => at,
        },
        {
          heading: 'Change',
          cell: ({ id, source, from, to }) => (
            <Action
              label="Remove"
              method="DELETE"
              path={`invoices/${id}`}
              says={
                <>
                  The rows of <Name of={source} /> for {shortDays(from, to)} are removed, and the months are
                  compared without them. Charges that were made of it stay.
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
