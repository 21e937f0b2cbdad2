import { CHARGE_CATEGORIES } from '../../../src/usage/charges/charge.ts'
import { Action, type FormField } from '../../shared/action.tsx'
import { linkTo, pathPart } from '../../shared/address.ts'
import { address, choose } from '../../shared/context.tsx'
import { Filter, optionOf } from '../../shared/controls.tsx'
import { MonthField, Usd } from '../../shared/figures.tsx'
import { count, shortDays, thisMonth, words } from '../../shared/format.ts'
import { Name, Part } from '../../shared/part.tsx'
import { Table } from '../../shared/table.tsx'
import type { Charge, Contract } from '../answers.ts'

/** What is charged beside calls in a month, and what is agreed on with providers. */
export function ChargesView() {
  const { month = thisMonth(), client } = address.value.query
  return (
    <>
      <div class="controls">
        <MonthField month={month} />
        <Filter label="Client" value={client ?? ''} onChoose={(name) => choose({ client: name })} />
        <Action
          label="Set a charge"
          path="charges"
          fields={newCharge(month, client ?? '')}
          says="In place of the charge of that name. Statements that are closed stay: the next one has the difference."
          isMain
        />
        {month < thisMonth() && (
          <Action
            label="Share out"
            path="charges/share"
            fixed={{ month }}
            fields={[
              { name: 'share_by', label: 'By', options: ['tokens', 'cost', 'clients'].map(optionOf) },
              { name: 'reason', label: 'Reason', isRequired: true },
            ]}
            says={`What no client pays of ${month} is shared out to its clients. Of a commitment that is what no client used.`}
            isGrave
          />
        )}
      </div>
      <Part<readonly Charge[]> title={`Charges of ${month}`} path="charges" choices={{ month, client }}>
        {(charges) => <ChargeTable charges={charges} month={month} />}
      </Part>
      <Part<readonly Contract[]>
        title="Contracts: what you pay providers"
        path="contracts"
        everyMs={60_000}
        actions={
          <Action
            label="Set a contract"
            path="contracts"
            fields={NEW_CONTRACT}
            says="It holds from its day on, until the next one of the same calls. Clients pay as before."
            isMain
          />
        }
      >
        {(contracts) => <ContractTable contracts={contracts} />}
      </Part>
    </>
  )
}

const DAY = 'such as 2026-11-01'

function newCharge(month: string, client: string): readonly FormField[] {
  return [
    { name: 'name', label: 'Name', hint: 'such as an invoice and its line', isRequired: true },
    { name: 'category', label: 'Category', options: CHARGE_CATEGORIES.map(optionOf) },
    { name: 'service', label: 'Service', hint: 'what it is for', isRequired: true },
    { name: 'amount_usd', label: 'USD', hint: 'below 0 for a credit', isRequired: true },
    { name: 'from', label: 'From the day', hint: DAY, value: `${month}-01`, isRequired: true },
    { name: 'to', label: 'To', hint: 'in the same month; empty: that day' },
    { name: 'client', label: 'Client', hint: 'who pays it; empty: you', value: client },
    { name: 'upstream', label: 'Upstream', hint: 'needed for a commitment' },
    { name: 'model', label: 'Model', hint: 'what a commitment covers' },
    { name: 'capacity_tokens', label: 'Capacity in tokens', hint: 'of a commitment' },
    { name: 'quantity', label: 'Quantity' },
    { name: 'unit', label: 'Unit', hint: 'such as PTU, hours' },
    { name: 'reason', label: 'Reason', isRequired: true },
  ]
}

function ChargeTable({ charges, month }: { readonly charges: readonly Charge[]; readonly month: string }) {
  return (
    <Table
      label="Charges"
      empty="Nothing is charged beside calls."
      rows={charges}
      file={`charges-${month}.csv`}
      columns={[
        {
          heading: 'Charge',
          cell: ({ name, service, part }) => (
            <>
              <Name of={name} detail={service} />
              {part !== null && <span class="badge">{part} part</span>}
            </>
          ),
          value: ({ name }) => name,
        },
        { heading: 'Service', cell: () => null, kind: 'none', value: ({ service }) => service },
        {
          heading: 'Category',
          kind: 'text',
          cell: ({ category, upstream }) => <Name of={words(category)} detail={upstream ?? ''} />,
          value: ({ category }) => category,
        },
        {
          heading: 'Days',
          kind: 'text',
          cell: ({ from, to }) => shortDays(from, to),
        },
        { heading: 'From', cell: () => null, kind: 'none', value: ({ from }) => from },
        { heading: 'To', cell: () => null, kind: 'none', value: ({ to }) => to },
        {
          heading: 'Client',
          kind: 'text',
          cell: ({ client }) =>
            client === null ? (
              <span class="quiet">you</span>
            ) : (
              <a href={linkTo('statements', { client, month })}>
                <Name of={client} />
              </a>
            ),
          value: ({ client }) => client,
        },
        {
          heading: 'Amount',
          kind: 'main',
          cell: ({ amount_usd: amount }) => <Usd of={amount} />,
          value: ({ amount_usd: amount }) => amount,
        },
        {
          heading: 'Unused',
          cell: ({ spread }) => spread !== null && <Usd of={spread.unused_usd} />,
          title: ({ spread }) =>
            spread === null ? '' : `${count(Number(spread.tokens))} tokens were covered`,
          value: ({ spread }) => spread?.unused_usd ?? null,
        },
        {
          heading: 'A million tokens',
          kind: 'extra',
          cell: ({ spread }) => spread !== null && <Usd of={spread.effective_usd} />,
          value: ({ spread }) => spread?.effective_usd ?? null,
        },
        {
          heading: 'Reason',
          kind: 'extra',
          cell: ({ reason }) => <Name of={reason} />,
          value: ({ reason }) => reason,
        },
        {
          heading: 'Change',
          // A part goes with the whole.
          cell: ({ name, shared_from: whole }) =>
            whole === null && (
              <Action
                label="Remove"
                method="DELETE"
                path={`charges/${pathPart(name)}`}
                says={
                  <>
                    <Name of={name} /> and the parts of it that clients have are charged no longer. Statements
                    that are closed stay: the next ones take it back.
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

const NEW_CONTRACT: readonly FormField[] = [
  { name: 'from', label: 'From the day', hint: DAY, isRequired: true },
  { name: 'factor', label: 'Part of the list price', hint: 'such as 0.93; empty: 1' },
  { name: 'upstream', label: 'Upstream', hint: 'empty: all' },
  { name: 'model', label: 'Model', hint: 'empty: all; gpt-* for all of a name' },
  { name: 'service_tier', label: 'Tier', hint: 'empty: all' },
  {
    name: 'prices',
    label: 'Prices',
    hint: 'in place of listed ones, such as input=2.50, output=10',
    read: (text) => text.split(/\s*,\s*/).filter((price) => price !== ''),
  },
  { name: 'reference', label: 'Reference', hint: 'its number, or where it stands' },
]

function ContractTable({ contracts }: { readonly contracts: readonly Contract[] }) {
  return (
    <Table
      label="Contracts"
      empty="There is no contract: calls cost you what the lists say."
      rows={contracts}
      file="contracts.csv"
      columns={[
        {
          heading: 'Calls',
          cell: (contract) => <Name of={callsOf(contract)} detail={contract.reference ?? ''} />,
          value: callsOf,
        },
        {
          heading: 'From',
          kind: 'text',
          cell: ({ from }) => from,
          value: ({ from }) => from,
        },
        { heading: 'Part of the list', cell: ({ factor }) => factor, value: ({ factor }) => factor },
        {
          heading: 'Prices',
          kind: 'text',
          cell: ({ prices }) => <Name of={prices.length === 0 ? 'as listed' : prices.join(', ')} />,
          value: ({ prices }) => prices.join(' '),
        },
        { heading: 'Reference', cell: () => null, kind: 'none', value: ({ reference }) => reference },
        { heading: 'Change', cell: (contract) => <ContractChanges contract={contract} /> },
      ]}
    />
  )
}

function callsOf({ upstream, model, service_tier: tier }: Contract): string {
  const parts = [
    model ?? 'all models',
    ...(upstream === null ? [] : [`at ${upstream}`]),
    ...(tier === null ? [] : [`(${tier})`]),
  ]
  return parts.join(' ')
}

function ContractChanges({ contract }: { readonly contract: Contract }) {
  const { id, upstream, model, service_tier: tier } = contract
  const calls = {
    upstream: upstream ?? undefined,
    model: model ?? undefined,
    service_tier: tier ?? undefined,
  }
  return (
    <span class="actions">
      <Action
        label="End"
        path="contracts"
        // One of the same calls follows it, by which they cost what the lists say.
        fixed={{ ...calls, factor: '1.0', reference: `after ${id}` }}
        fields={[{ name: 'from', label: 'From the day', hint: DAY, isRequired: true }]}
        says={
          <>
            From this day on <Name of={callsOf(contract)} /> cost you what the lists say.
          </>
        }
      />
      <Action
        label="Remove"
        method="DELETE"
        path={`contracts/${id}`}
        says="It never held: days before now cost what they would have without it, too."
        isGrave
      />
    </span>
  )
}
