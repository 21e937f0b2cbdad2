import { afterAll, beforeAll, expect, test } from 'vitest'
import { json, run } from '../cli/command-line.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, startOperator } from './support/operator.ts'

let operator: Operator
let today = '2026-10-01'

beforeAll(async () => {
  operator = await startOperator({ now: () => Date.parse(`${today}T10:00:00Z`) })
})
afterAll(() => operator.close())

function environment() {
  return { DATABASE_URL: operator.database.url, KEY_PEPPER: 'pepper' }
}

async function ask(method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) {
  return await operator.ask({
    ...{ method, url: `/admin/v1${path}` },
    ...(payload === undefined ? {} : { payload }),
  })
}

async function make(what: 'clients' | 'groups', name: string, into?: string): Promise<string> {
  const { status, document } = await ask('POST', `/${what}`, { name, ...(into && { into }) })
  expect(status).toBe(201)
  return (document as { readonly id: string }).id
}

async function costs(path: string): Promise<unknown> {
  const { status, document } = await ask('GET', path)
  expect(status).toBe(200)
  const { totals, rows } = document as {
    readonly totals: { readonly cost_usd_text: string }
    readonly rows: readonly { readonly group: string | null; readonly cost_usd_text: string }[]
  }
  return [totals.cost_usd_text, ...rows.map(({ group, cost_usd_text: cost }) => `${group} ${cost}`)]
}

test('a tree is made, listed, renamed and moved about, as the command line shows it', async () => {
  await make('groups', 'company')
  const sales = await make('groups', 'sales', 'company')
  await make('groups', 'crew', sales)
  const client = await make('clients', 'shop')
  expect(await ask('POST', '/clients/shop/move', { into: 'crew' })).toMatchObject({
    status: 200,
    document: { id: client, group: 'crew' },
  })
  const listed = await ask('GET', '/groups')
  expect(listed.document).toMatchObject([
    { name: 'company', parent_id: null, clients: 0, groups: 1 },
    { name: 'sales', clients: 0, groups: 1 },
    { name: 'crew', parent_id: sales, clients: 1, groups: 0 },
  ])
  expect(listed.document).toEqual(await json(environment(), 'group', 'list'))
  expect((await run(environment(), 'group', 'list')).out).toMatch(/\n {4}crew +1 /)
  expect((await ask('GET', '/clients?group=company')).document).toMatchObject([{ name: 'shop' }])
  expect((await ask('POST', '/groups/sales/rename', { name: 'trade' })).document).toMatchObject({ id: sales })
  expect((await ask('POST', '/groups/trade/rename', { name: 'crew' })).status).toBe(409)
  expect((await ask('POST', '/groups/crew/move', { none: true })).document).toMatchObject({ parent_id: null })
  expect((await ask('GET', '/clients?group=company')).document).toEqual([])
})

test('a member that moved on the 15th is in two statements, which share its months to the picodollar', async () => {
  today = '2026-10-03'
  await make('groups', 'lab')
  await make('groups', 'first', 'lab')
  await make('groups', 'second', 'lab')
  await make('clients', 'rover')
  await make('clients', 'loner')
  await ask('POST', '/clients/rover/move', { into: 'first', from: '2026-10-01' })
  const { pool } = operator
  const use = async (client: string, day: string, pico: bigint) =>
    await addDailyUsage(pool, client, day, 'gpt-4o', { requests: 1, cost_pico: `${pico}` })
  await use('rover', '2026-10-31', 100n)
  await use('rover', '2026-11-14', 20n)
  await use('rover', '2026-11-15', 3n)
  await use('loner', '2026-11-15', 50_000n)
  today = '2026-11-15'
  await ask('POST', '/clients/rover/move', { into: 'second' })
  const stated = async (group: string, month: string) => {
    const { status, document } = await ask('GET', `/groups/${group}/statements/${month}`)
    expect(status).toBe(200)
    const {
      cost_usd: cost,
      lines,
      members,
    } = document as {
      readonly cost_usd: string
      readonly lines: readonly { readonly amount_usd: string }[]
      readonly members: readonly Readonly<Record<string, unknown>>[]
    }
    expect(lines.map(({ amount_usd: amount }) => amount)).toEqual(cost === '0' ? [] : [cost])
    return [cost, ...members.map(({ part, from, to, cost_usd: own }) => `${part} ${from} ${to} ${own}`)]
  }
  const usd = (pico: number) => `0.${`${pico}`.padStart(12, '0')}`.replace(/0+$/, '')
  expect(await stated('first', '2026-10')).toEqual([usd(100), `first 2026-10-01 2026-10-31 ${usd(100)}`])
  expect(await stated('second', '2026-10')).toEqual(['0'])
  expect(await stated('first', '2026-11')).toEqual([usd(20), `first 2026-11-01 2026-11-14 ${usd(20)}`])
  expect(await stated('second', '2026-11')).toEqual([usd(3), `second 2026-11-15 2026-11-30 ${usd(3)}`])
  expect(await stated('lab', '2026-11')).toEqual([
    usd(23),
    `first 2026-11-01 2026-11-14 ${usd(20)}`,
    `second 2026-11-15 2026-11-30 ${usd(3)}`,
  ])
  const charge = async (name: string, day: string, usdText: string) =>
    await ask('POST', '/charges', {
      ...{ name, category: 'tax', service: 'VAT', client: 'rover', from: day, amount_usd: usdText },
      reason: 'invoice',
    })
  await charge('before', '2026-11-14', '0.000000000007')
  await charge('after', '2026-11-15', '-0.000000000002')
  const owed = async (group: string) => {
    const { document } = await ask('GET', `/groups/${group}/statements/2026-11`)
    const { total_usd: total, charges } = document as {
      readonly total_usd: string
      readonly charges: readonly Readonly<Record<string, unknown>>[]
    }
    return [total, ...charges.map(({ client, name }) => `${client} ${name}`)]
  }
  expect(await owed('first')).toEqual([usd(27), 'rover before'])
  expect(await owed('second')).toEqual([usd(1), 'rover after'])
  expect(await owed('lab')).toEqual([usd(28), 'rover before', 'rover after'])
  const month = 'period=2026-11&group_by=group'
  expect(await costs(`/report?${month}`)).toEqual([usd(50_023), `null ${usd(50_000)}`, `lab ${usd(23)}`])
  expect(await costs(`/report?${month}&group=lab`)).toEqual([usd(23), `first ${usd(20)}`, `second ${usd(3)}`])
  expect(await costs('/report?period=2026-10&group_by=group')).toEqual([usd(100), `lab ${usd(100)}`])

  const { document } = await ask('GET', '/groups/usage?period=2026-11')
  const { groups } = document as { readonly groups: readonly Readonly<Record<string, unknown>>[] }
  const nodes = groups.map(({ name, level, cost_usd_text: cost, own_cost_usd_text: own }) =>
    [level, name, cost, own].join(' '),
  )
  expect(nodes.slice(-4)).toEqual([
    `1 lab ${usd(23)} 0`,
    `2 first ${usd(20)} ${usd(20)}`,
    `2 second ${usd(3)} ${usd(3)}`,
    `1  ${usd(50_000)} ${usd(50_000)}`,
  ])
  const days = ['--from', '2026-10-01', '--to', '2026-11-15']
  const exported = await run(environment(), 'usage', 'export', '--format', 'jsonl', '--group', 'lab', ...days)
  const lines = exported.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ day, group_name: group }) => `${day} ${group}`)).toEqual([
    '2026-10-31 first',
    '2026-11-14 first',
    '2026-11-15 second',
  ])

  // Named for the days before, too, all of it is where it is now.
  await ask('POST', '/clients/rover/move', { into: 'second', from: '2026-11-01' })
  expect(await stated('first', '2026-11')).toEqual(['0'])
  expect(await stated('second', '2026-11')).toEqual([usd(23), `second 2026-11-01 2026-11-30 ${usd(23)}`])
  expect((await run(environment(), 'group', 'statement', 'lab', '2026-11')).out).toMatch(
    /rover +second +2026-11-01/,
  )
})

test('of two moves at once that make a cycle one is refused, and so is what is too deep or to come', async () => {
  const deep = ['one', 'two', 'three', 'four', 'five']
  for (const [place, name] of deep.entries()) await make('groups', name, deep[place - 1])
  expect((await ask('POST', '/groups', { name: 'six', into: 'five' })).status).toBe(409)
  expect((await ask('POST', '/groups/one/move', { into: 'lab' })).status).toBe(409)
  for (const [left, right] of [
    ['yin', 'yang'],
    ['cat', 'dog'],
  ] as const) {
    await make('groups', left)
    await make('groups', right)
    const both = await Promise.all([
      ask('POST', `/groups/${left}/move`, { into: right }),
      ask('POST', `/groups/${right}/move`, { into: left }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  }
  // Each alone is at most five deep, both together six.
  for (const [name, into] of [['a1'], ['a2', 'a1'], ['a3', 'a2'], ['b1'], ['b2', 'b1'], ['c1']] as const)
    await make('groups', name, into)
  const both = await Promise.all([
    ask('POST', '/groups/b1/move', { into: 'a3' }),
    ask('POST', '/groups/a1/move', { into: 'c1' }),
  ])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
  expect((await ask('POST', '/groups/cat/move', { into: 'cat' })).status).toBe(409)
  expect((await ask('POST', '/clients/shop/move', { into: 'cat', from: '2026-11-16' })).status).toBe(400)
  expect((await ask('POST', '/clients/shop/move', {})).status).toBe(400)
  expect((await ask('POST', '/clients/shop/move', { into: 'cat', none: true })).status).toBe(400)
  expect((await ask('POST', '/clients/shop/move', { into: 'nowhere' })).status).toBe(404)
})

test('a group with members ends where they go elsewhere, and its past stays under its name', async () => {
  expect(await ask('DELETE', '/groups/second')).toMatchObject({ status: 409 })
  today = '2026-11-20'
  expect((await ask('DELETE', '/groups/second?into=first')).status).toBe(200)
  expect((await ask('GET', '/clients?group=first')).document).toMatchObject([{ name: 'rover' }])
  expect((await ask('GET', '/groups')).document).not.toContainEqual(
    expect.objectContaining({ name: 'second' }),
  )
  expect(await costs('/report?period=2026-11&group_by=group&group=lab')).toEqual([
    expect.any(String),
    expect.stringMatching(/^second /),
  ])
  await make('groups', 'second')
})

test('the audit has each move under the id of what moved, before and after', async () => {
  const { document } = await ask('GET', '/audit?operation=clients.move')
  const changes = (document as readonly { readonly changes: readonly unknown[] }[]).flatMap(
    (one) => one.changes,
  )
  expect(changes).toContainEqual(
    expect.objectContaining({ after: expect.objectContaining({ from_day: '2026-11-15' }) }),
  )
})
