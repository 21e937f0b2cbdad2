import { z } from 'zod'
import { shownDay, shownDocument, shownList, shownText, shownTextOrNull } from '../../operations/answers.ts'
import { dayField, formField, lineField, modelField, textField } from '../../operations/fields.ts'
import { type Chapter, changeOf, type InputOf, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { invalid, notFound } from '../../operations/refuse.ts'
import { serviceTierOf } from '../catalog/catalog-service-tiers.ts'
import {
  type KeptContract,
  type NewContract,
  removeContract,
  selectContracts,
  setContract,
} from '../contracts/contracts-table.ts'
import { OVERRIDE_FIELDS } from '../overrides/price-overrides.ts'

const FIELD_NAMES = OVERRIDE_FIELDS.map(({ field }) => field)
const PRICE_FORM = new RegExp(`^(?:${FIELD_NAMES.join('|')})=[0-9]{1,9}(?:\\.[0-9]{1,12})?$`)
const FACTOR_FORM = /^(?:[0-9]{1,3})(?:\.[0-9]{1,12})?$/
const TIER_FORM = /^[a-z0-9._+-]{1,40}$/

/** What a contract is: the same over HTTP, on the command line, and in files of `apply`. */
export const CONTRACT_FIELDS = {
  upstream: textField('Calls at the upstream of this name. Without it: at all.', 'name').optional(),
  model: modelField('Calls of this model, or of names that begin so. Without it: of all.').optional(),
  service_tier: formField(TIER_FORM, 'must be a service tier, such as batch', {
    description: 'Calls at this tier. Without it: at all, and prices are those of the standard tier.',
    [VALUE]: 'tier',
  }).optional(),
  from: dayField('The first UTC day. It holds until the next contract of the same calls.'),
  factor: formField(FACTOR_FORM, 'must be a decimal number below 1000, such as 0.93', {
    description: 'The part of the list price that is paid, where no price of the contract is.',
    examples: ['0.93'],
    [VALUE]: 'number',
  }).default('1'),
  prices: z
    .array(
      formField(PRICE_FORM, 'must be the name of a price, =, and US dollars, such as input=2.50', {}),
      'must be a list of prices',
    )
    .refine((prices) => new Set(prices.map(fieldOf)).size === prices.length, 'must name each price once')
    .default([])
    .describe('Prices in place of listed ones, as the configuration has them: input=2.50, output=10.'),
  reference: lineField('What it is: the number of a contract, or where it stands.').optional(),
}

function fieldOf(price: string): string {
  return price.split('=')[0] ?? ''
}

const SHOWN_CONTRACT = shownDocument('Contract', {
  id: shownText('The id of the contract, which begins with con_.'),
  upstream: shownTextOrNull('The name of the upstream. null: all.'),
  model: shownTextOrNull('The model, or the beginning of names and *. null: all.'),
  service_tier: shownTextOrNull('The tier. null: all.'),
  from: shownDay('The first UTC day.'),
  factor: shownText('The part of the list price that is paid.'),
  prices: shownList(shownText('Its name, =, and US dollars.'), 'Prices in place of listed ones.'),
  reference: shownTextOrNull('What it is.'),
})

export type ContractDocument = z.output<typeof SHOWN_CONTRACT>

export function renderContract(contract: KeptContract): ContractDocument {
  const { id, upstream, model, serviceTier, from, factor, prices, reference } = contract
  return {
    ...{ id, upstream, model, service_tier: serviceTier, from, factor },
    prices: FIELD_NAMES.flatMap((field) =>
      prices[field] === undefined ? [] : [`${field}=${prices[field]}`],
    ),
    reference: reference || null,
  }
}

/** Checked fields as a contract. */
export function contractOf(asked: InputOf<typeof CONTRACT_FIELDS>): NewContract {
  const {
    upstream = null,
    model = null,
    service_tier: serviceTier = null,
    from,
    factor,
    prices,
    reference = '',
  } = asked
  return {
    ...{ upstream, model, serviceTier, from, factor, reference },
    prices: Object.fromEntries(prices.map((price) => price.split('=') as [string, string])),
  }
}

const setContractOperation = renderedOperation({
  name: 'contracts.set',
  summary:
    'Sets what you pay a provider from a day on, in place of the same contract. Clients pay as before.',
  role: 'admin',
  http: { method: 'POST', path: '/contracts', id: 'setContract', body: 'NewContract' },
  input: CONTRACT_FIELDS,
  check({ upstream, model, service_tier: tier, prices, factor }) {
    if (prices.length > 0 && model === undefined) throw invalid('prices', 'need model')
    // Under another spelling no call has it, and the contract would never hold.
    if (tier !== undefined && serviceTierOf(tier) !== tier)
      throw invalid('service_tier', `must be ${serviceTierOf(tier) ?? 'another one than the standard tier'}`)
    const isAll = upstream === undefined && model === undefined && tier === undefined
    if (isAll && factor === '1') throw invalid('factor', 'is missing: say what is paid, and for what')
  },
  answer: SHOWN_CONTRACT,
  gives: 'The contract.',
  run: ({ pool }: Ports, asked) => setContract(pool, contractOf(asked)),
  render: renderContract,
  changes: changeOf('admin.contract_changed', 'contract set', 'contract'),
  command: { words: 'contract set', print: (contract) => `${textOf(contract)}: ${contract.id}.` },
})

export const listContracts = renderedOperation({
  name: 'contracts.list',
  summary: 'Shows what you pay providers, by upstream, model and day.',
  role: 'read',
  http: { method: 'GET', path: '/contracts', id: 'listContracts' },
  input: {},
  answer: shownList(SHOWN_CONTRACT),
  gives: 'The contracts.',
  run: ({ pool }: Ports) => selectContracts(pool),
  render: (contracts: readonly KeptContract[]) => contracts.map(renderContract),
  command: {
    words: 'contract list',
    print: {
      empty: 'There is no contract: calls cost you what the lists say. Set one: contract set',
      columns: [
        { heading: 'ID', cell: ({ id }) => id },
        { heading: 'FROM', cell: ({ from }) => from },
        { heading: 'UPSTREAM', cell: ({ upstream }) => upstream ?? '(all)' },
        { heading: 'MODEL', cell: ({ model }) => model ?? '(all)' },
        { heading: 'TIER', cell: ({ serviceTier }) => serviceTier ?? '(all)' },
        { heading: 'FACTOR', align: 'right', cell: ({ factor }) => factor },
        { heading: 'PRICES', cell: (contract) => renderContract(contract).prices.join(' ') },
        { heading: 'REFERENCE', cell: ({ reference }) => reference },
      ],
    },
  },
})

const removeContractOperation = renderedOperation({
  name: 'contracts.remove',
  summary: 'Removes a contract that never held. One that ends is followed by another of the same calls.',
  role: 'admin',
  http: { method: 'DELETE', path: '/contracts/{id}', id: 'removeContract' },
  input: { id: textField('The id of the contract.', 'id') },
  answer: SHOWN_CONTRACT,
  gives: 'The contract that was removed.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const removed = await removeContract(pool, id)
    if (removed === null) throw notFound(`There is no contract ${id}.`, 'id', 'contract list shows them')
    return removed
  },
  render: renderContract,
  changes: changeOf('admin.contract_changed', 'contract removed', 'contract'),
  command: {
    words: 'contract remove',
    options: { id: '<id>' },
    print: (contract) => `Removed: ${textOf(contract)}.`,
  },
})

export const CONTRACT_CHAPTER: Chapter<Ports> = {
  words: 'contract',
  about: 'What you pay providers, where it is not the list price.',
  operations: [setContractOperation, listContracts, removeContractOperation],
}

function textOf(contract: KeptContract): string {
  const { upstream, model, serviceTier, from, factor } = contract
  const { prices } = renderContract(contract)
  const what = [
    model ?? 'all models',
    ...(upstream === null ? [] : [`at ${upstream}`]),
    serviceTier ?? [],
  ].flat()
  return `${what.join(' ')} from ${from} on: ${[`${factor} of list`, ...prices].join(', ')}`
}
