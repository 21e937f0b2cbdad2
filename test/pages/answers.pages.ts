import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { forecastMonth } from '../../pages/operator/forecast.ts'
import { count, exactUsd, milliseconds, percent } from '../../pages/shared/format.ts'
import { LATENCY_BOUNDS_US } from '../../src/domain/latency.ts'
import { firstOfMonth } from '../../src/domain/period.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { type Cells, rowsOf as cellsOf, type Stand, settled, signIn, startStand, UNPRICED } from './stand.ts'

/** What operators ask, in ten tests. Each begins at the overview, and its figures are those of SQL over the same rows. */

const MOST_CLICKS = 3
const WRONG_KEYS = 3

let stand: Stand
let page: Page
let clicks = 0
const today = utcDayOf(Date.now())

beforeAll(async () => {
  stand = await startStand()
  await addLatencies()
  await addNetworks()
  for (let times = 0; times < WRONG_KEYS; times += 1) await call('tg_wrong', 'gpt-4o')
  // The others have budgets, which let no call without a price through.
  await call((await stand.stack.addClient('without a budget')).key, UNPRICED)
  page = (await stand.open()).page
  await signIn(stand, page)
})
afterAll(() => stand?.close())
beforeEach(async () => {
  clicks = 0
  await page.goto(`${stand.operatorUrl}#/overview`)
  await settled(page)
})

async function call(key: string, model: string): Promise<void> {
  const answer = await fetch(`${stand.stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.arrayBuffer()
}

/** Times of calls in buckets far apart, of each client; of today, as days that are over are read from their sums. */
async function addLatencies(): Promise<void> {
  for (const { id } of stand.clients)
    await stand.stack.pool.query(
      `insert into tallygate.daily_latency (day, client_id, model, buckets, first_bytes)
       select $1::date, $2, model, calls * (10::numeric ^ (12 * place)) + 10::numeric ^ 240, 0
       from (values ('gpt-4o', 30, 15), ('gpt-4o-mini', 2, 9)) m (model, calls, place)
       on conflict (day, client_id, model) do update set buckets = daily_latency.buckets + excluded.buckets`,
      [today, id],
    )
}

/** The first key came from one network for weeks, and now from another, too. */
async function addNetworks(): Promise<void> {
  await stand.stack.pool.query(
    `insert into tallygate.key_networks (day, key_id, network, calls)
     select day, k.id, network, calls
     from (select id from tallygate.keys where client_id = $1) k,
       (values ($2::date, '198.51.100.0/24', 70), ($3::date, '203.0.113.0/24', 5)) n (day, network, calls)`,
    [stand.clients[0]?.id, addDays(today, -20), addDays(today, -1)],
  )
}

async function click(target: Locator): Promise<void> {
  clicks += 1
  expect(clicks).toBeLessThanOrEqual(MOST_CLICKS)
  await target.click()
}

async function select<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await stand.stack.pool.query<Row>(text, [...values])).rows
}

const region = (name: string) => page.getByRole('region', { name, exact: true })
const tile = (name: string) => page.locator('.tile dt').getByRole('link', { name, exact: true })

const rowsOf = (card: string) => cellsOf(page, card)

const pick = (rows: readonly Cells[], ...headings: readonly string[]) =>
  rows.map((row) => headings.map((heading) => row[heading]))

const COST = 'trim_scale(coalesce(sum(u.cost_pico + u.adjusted_pico), 0) * 0.000000000001)::text'

interface Cost {
  readonly name: string
  readonly usd: string
}

/** What each client cost in these days, the most first. */
function costs(from: string, to: string): Promise<Cost[]> {
  return select<Cost>(
    `select c.name, ${COST} as usd from tallygate.daily_usage u join tallygate.clients c on c.id = u.client_id
     where u.day between $1 and $2 group by c.name order by sum(u.cost_pico + u.adjusted_pico) desc, c.name`,
    [from, to],
  )
}

/** The rows of clients with the cost of some days, and of the days before. */
async function compared(from: string, to: string, days: number) {
  const before = new Map(
    (await costs(addDays(from, -days), addDays(from, -1))).map(({ name, usd }) => [name, usd]),
  )
  return (await costs(from, to)).map(({ name, usd }) => [
    name,
    exactUsd(usd),
    exactUsd(before.get(name) ?? '0'),
  ])
}

test('who spent what yesterday, and who in the week before', async () => {
  // Calls with a wrong key were refused to no client.
  const shown = async () =>
    pick(await rowsOf('Cost per UTC day'), 'Client', 'Cost', 'Before').filter(
      ([client]) => client !== '(none)',
    )
  await click(page.getByText('Yesterday', { exact: true }))
  const yesterday = addDays(today, -1)
  await expect.poll(shown).toEqual(await compared(yesterday, yesterday, 1))
  await click(page.getByText('7 days', { exact: true }))
  await expect.poll(shown).toEqual(await compared(addDays(today, -6), today, 7))
})

test('who grew most', async () => {
  const of = await Promise.all([
    costs(addDays(today, -29), today),
    costs(addDays(today, -59), addDays(today, -30)),
  ])
  const [now = [], then = []] = of.map((rows) => rows.map(({ name, usd }) => [name, Number(usd)] as const))
  const before = new Map(then)
  const [most] = now
    .map(([name, usd]) => [name, usd - (before.get(name) ?? 0)] as const)
    .sort((a, b) => b[1] - a[1])
  await expect.poll(async () => (await rowsOf('Grew most'))[0]?.Client).toBe(most?.[0])
  const [first] = await rowsOf('Grew most')
  expect(Number(first?.Change?.replace(/[$,]/g, ''))).toBeCloseTo(most?.[1] ?? 0, 9)
})

test('the p95 of a model', async () => {
  const [{ counts } = { counts: [] }] = await select<{ counts: string[] }>(
    `select tallygate.latency_counts(sum(buckets)) as counts from tallygate.daily_latency
     where model = 'gpt-4o' and day > $1`,
    [addDays(today, -30)],
  )
  const all = counts.reduce((sum, calls) => sum + Number(calls), 0)
  const isWithin = (place: number) =>
    counts.slice(0, place + 1).reduce((sum, calls) => sum + Number(calls), 0) >= 0.95 * all
  const place = counts.findIndex((_, index) => isWithin(index))
  await click(tile('p95 latency'))
  await expect
    .poll(async () => pick(await rowsOf('Cost per UTC day'), 'Model', 'p95'))
    .toContainEqual(['gpt-4o', milliseconds((LATENCY_BOUNDS_US[place] ?? 0) / 2 ** 0.25 / 1_000)])
})

test('the error rate of a key', async () => {
  const keys = await select<{ key: string; errors: string; requests: string }>(
    `select k.name || u.key_id as key, sum(u.errors) as errors, sum(u.requests) as requests
     from tallygate.daily_usage u join tallygate.keys k on k.id = u.key_id where u.day > $1 group by 1`,
    [addDays(today, -30)],
  )
  expect(keys.length).toBeGreaterThan(1)
  await click(tile('Errors'))
  clicks += 1
  await page.getByLabel('By', { exact: true }).selectOption('key')
  const shown = async () => pick(await rowsOf('Errors per UTC day'), 'Key', 'Errors', 'Error rate')
  for (const { key, errors, requests } of keys)
    await expect
      .poll(shown)
      .toContainEqual([key, count(Number(errors)), percent(Number(errors), Number(requests))])
})

test('the bill of a client for the last month', async () => {
  const last = addDays(firstOfMonth(today), -1)
  await click(page.getByText('Last month', { exact: true }))
  const bills = (await costs(firstOfMonth(last), last)).map(({ name, usd }) => [name, exactUsd(usd)])
  expect(bills.length).toBeGreaterThan(1)
  await expect.poll(async () => pick(await rowsOf('Cost per UTC day'), 'Client', 'Cost')).toEqual(bills)
})

test('what is unpriced, why, and whose', async () => {
  const reasons = () =>
    select<{ reason: string; calls: string }>(
      `select unpriced_reason as reason, count(*) as calls from tallygate.calls where cost_pico is null group by 1`,
    )
  await expect.poll(async () => (await reasons()).length).toBeGreaterThan(0)
  await click(tile('Unpriced'))
  const shown = async () => pick(await rowsOf('Calls without a cost'), 'Why', 'Calls')
  // The call before this test's is counted meanwhile: both are read until they agree.
  const missing = async () => {
    const [{ unpriced } = { unpriced: '' }] = await select<{ unpriced: string }>(
      'select sum(unpriced - coalesce(priced_later, 0)) as unpriced from tallygate.daily_usage where day > $1',
      [addDays(today, -30)],
    )
    const seen = (await shown()).reduce((sum, [, calls]) => sum + Number(calls?.replaceAll(',', '')), 0)
    return Number(unpriced) - seen
  }
  await expect.poll(missing).toBe(0)
  for (const { reason, calls } of await reasons())
    expect(await shown()).toContainEqual([
      expect.stringContaining(reason.replaceAll('_', ' ')),
      count(Number(calls)),
    ])
  await click(region('Calls without a cost').getByRole('link', { name: /our-/ }).first())
  const whose = await select<{ name: string; calls: string }>(
    `select c.name, sum(u.unpriced - coalesce(u.priced_later, 0)) as calls from tallygate.daily_usage u
     join tallygate.clients c on c.id = u.client_id where u.day > $1 and u.model = $2 group by 1`,
    [addDays(today, -30), UNPRICED],
  )
  for (const { name, calls } of whose)
    await expect
      .poll(async () => pick(await rowsOf('Cost per UTC day'), 'Client', 'Unpriced'))
      .toContainEqual([name, count(Number(calls))])
})

test('what was refused and why, wrong keys included', async () => {
  const refused = () =>
    select<{ name: string; reason: string; calls: string }>(
      `select coalesce(c.name, 'no known client') as name, r.reason, sum(r.calls)::text as calls
       from tallygate.refusals r left join tallygate.clients c on c.id = r.client_id
       where r.day > $1 group by 1, 2`,
      [addDays(today, -30)],
    )
  await expect
    .poll(async () => (await refused()).find(({ reason }) => reason === 'unknown_key')?.calls)
    .toBe(`${WRONG_KEYS}`)
  await click(tile('Refused'))
  for (const { name, reason, calls } of await refused())
    await expect
      .poll(async () => pick(await rowsOf('Refused calls'), 'Client', 'Why', 'Calls'), { timeout: 60_000 })
      .toContainEqual([name, reason.replaceAll('_', ' '), calls])
})

test('whether anything is lost', async () => {
  await stand.stack.pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason) values ('a-gateway', 5, 7, 'a test')`,
  )
  await click(page.getByRole('link', { name: 'Ledger', exact: true }))
  await expect
    .poll(async () => pick(await rowsOf('Gaps'), 'Gateway', 'Records', 'Why'))
    .toEqual([['a-gateway', '3', 'a test']])
  await stand.stack.pool.query('delete from tallygate.ledger_gaps')
  const [requests] = await select<{ counted: string; totals: string }>(
    `select (select sum(mark) from tallygate.producers) as counted,
       (select sum(requests) from tallygate.daily_usage) as totals`,
  )
  await click(page.getByRole('button', { name: 'Verify' }))
  const dialog = page.getByRole('dialog')
  await click(dialog.getByRole('button', { name: 'Verify' }))
  await expect
    .poll(() => dialog.innerText())
    .toContain(
      `Producers counted ${count(Number(requests?.counted))} requests in all, the totals have ${count(Number(requests?.totals))}.`,
    )
  await page.keyboard.press('Escape')
})

test('which keys came from new networks', async () => {
  const found = () =>
    select<{ network: string; calls: string }>(
      `select n.network, sum(n.calls)::text as calls from tallygate.key_networks n
     where n.day > $1 and exists (
         select from tallygate.key_networks k where k.key_id = n.key_id and k.day <= $1)
       and not exists (
         select from tallygate.key_networks k where k.key_id = n.key_id and k.day <= $1 and k.network = n.network)
     group by n.key_id, n.network`,
      [addDays(today, -7)],
    )
  // Its calls of today came from here.
  await expect.poll(async () => (await found()).length).toBe(2)
  await click(page.getByRole('link', { name: 'Keys', exact: true }))
  const shown = async () => {
    const rows = await rowsOf('Networks that keys are used from')
    return rows.map(({ Network: network = '', Calls: calls }) => ({
      network: network.replace(/new$/, ''),
      calls,
    }))
  }
  await expect.poll(async () => new Set(await shown())).toEqual(new Set(await found()))
})

test('what the month has cost, and what it will cost', async () => {
  const days = await select<{ day: string; usd: string }>(
    `select to_char(day, 'YYYY-MM-DD') as day, ${COST} as usd from tallygate.daily_usage u
     where day > $1 group by day order by day`,
    [addDays(today, -90)],
  )
  const known = new Map(days.map(({ day, usd }) => [day, Number(usd)]))
  const series = Array.from({ length: 90 }, (_, index) => addDays(today, index - 89)).map((day) => ({
    day,
    usd: known.get(day) ?? 0,
  }))
  const forecast = forecastMonth(series)
  const shown = () =>
    page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('section.card')]
        .filter((card) => card.querySelector('h2').textContent === 'This month')
        .flatMap((card) => [...card.querySelectorAll('.amount span')].map(({ title }) => title))`,
    )
  await expect.poll(shown).toEqual([exactUsd(forecast?.spentUsd ?? 0), exactUsd(forecast?.expectedUsd ?? 0)])
})
