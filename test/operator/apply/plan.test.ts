import { expect, test } from 'vitest'
import type { TriedDocument } from '../../../src/limits/operations/tried.ts'
import { readDeclared } from '../../../src/operator/apply/declared.ts'
import { type PresentState, planApply } from '../../../src/operator/apply/plan.ts'
import { newChargeOf } from '../../../src/usage/operations/charges.ts'

const NOTHING: PresentState = {
  ...{
    groups: [],
    clients: [],
    keys: [],
    limits: [],
    tried: [],
    receivers: [],
    contracts: [],
    charges: [],
    customers: [],
    members: new Set(),
  },
}

function plan(text: string, standing: Partial<PresentState>, prune = false) {
  const { steps } = planApply(readDeclared(text, {}, null), { ...NOTHING, ...standing }, prune, 0)
  return steps.map(({ action, what, name, detail }) => [action, what, name, detail])
}

const charge = (place: string) =>
  `charges: [{ name: INV, category: tax, service: VAT, ${place}: acme, from: 2026-10-31, amount_usd: 4, reason: r }]`

test('a charge of a client is another one than that of an upstream with the same name', () => {
  const [declared] = readDeclared(charge('client'), {}, null).charges ?? []
  if (declared === undefined) throw new Error('nothing is declared')
  const part = { id: 'chg_1', sharedFrom: null, part: null }
  const there = { charge: { ...newChargeOf(declared, 'cli_1'), ...part, client: 'acme' } }
  expect(plan(charge('client'), { charges: [there] })).toEqual([])
  expect(plan(charge('upstream'), { charges: [there] })).toEqual([
    [
      ...['change', 'charge', 'INV'],
      'tax, VAT, 2026-10-31, of acme, 4 USD, r -> tax, VAT, 2026-10-31, at acme, 4 USD, r',
    ],
  ])
})

test('customers of billing systems are mapped as declared, and a first day becomes no later', () => {
  const there = {
    ...{ receiver: 'stripe', clientId: 'cli_1', client: 'acme', customer: 'cus_1', subscription: null },
    from: '2026-10-02',
  }
  const billing = (...customers: readonly string[]) =>
    `billing: [${customers.map((one) => `{ receiver: stripe, ${one} }`).join(', ')}]`
  const acme = 'client: acme, customer: cus_1'
  const standing = { customers: [there] }
  expect(plan(billing(acme), standing)).toEqual([])
  expect(plan(billing(`${acme}, from: 2026-11-01`), standing)).toEqual([])
  expect(plan(billing(`${acme}, from: 2026-10-01`, 'client: globex, customer: cus_2'), standing)).toEqual([
    ['change', 'customer', 'acme at stripe', 'cus_1, 2026-10-02 -> cus_1, 2026-10-01'],
    ['create', 'customer', 'globex at stripe', 'cus_2'],
  ])
  expect(plan('billing: []', standing, true)).toEqual([['remove', 'customer', 'acme at stripe', null]])
  expect(() => readDeclared(billing(acme, acme), {}, null)).toThrow(/has acme at stripe twice/)
})

test('a limit is tried as declared, and enforced once the file does not say that it is tried', () => {
  const clients = [{ id: 'cli_1', name: 'acme', disabled: false, group: null, createdAt: new Date(0) }]
  const limits = (...of: readonly string[]) => `clients: [{ name: acme, limits: [${of.join(', ')}] }]`
  const requests = (rest: string) => `{ kind: requests, limit: ${rest} }`
  const there: TriedDocument = {
    ...{ id: '7', client: 'acme', key: null, former_keys: [], model: null, kind: 'requests', limit: 60 },
    ...{ per: null, since: null, cached: null, unpriced: null, when_alone: null, from: '2026-11-01' },
    ...{ calls: 0, refused_calls: 0, refused_usd: '0', first_refused_at: null, last_refused_at: null },
    ...{ counted_at: null, today: null },
  }
  const standing = { clients, tried: [there] }
  const name = 'acme: requests'
  const tried = 'acme: tried requests'
  expect(plan(limits(requests('60, tried: true')), { clients })).toEqual([['create', 'limit', tried, '60']])
  expect(plan(limits(requests('60, tried: true')), standing)).toEqual([])
  expect(plan(limits(requests('70, tried: true')), standing)).toEqual([
    ['change', 'limit', tried, '60 -> 70'],
  ])
  expect(plan(limits(requests('60')), standing, true)).toEqual([['change', 'limit', name, 'tried -> held']])
  expect(plan(limits(requests('70')), standing, true)).toEqual([
    ['create', 'limit', name, '70'],
    ['remove', 'limit', tried, null],
  ])
  expect(plan(limits(requests('70'), requests('60, tried: true')), standing, true)).toEqual([
    ['create', 'limit', name, '70'],
  ])
  expect(() => plan(limits(requests('60, tried: true, axis: user')), standing)).toThrow(
    /tried does not go with axis/,
  )
})

test('clients of members, whom no file declares, are not disabled', () => {
  const there = { disabled: false, createdAt: new Date(0), group: 'search' }
  const clients = [
    { ...there, id: 'cli_1', name: 'member:ann@example.com' },
    { ...there, id: 'cli_2', name: 'left' },
  ]
  const standing = { clients, members: new Set(['cli_1']) }
  expect(plan('clients: []', standing, true)).toEqual([['remove', 'client', 'left', null]])
})
