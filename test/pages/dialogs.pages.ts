import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundledText } from '#prices/bundled-lists.ts'
import { exactUsd } from '../../pages/shared/format.ts'
import { picoToUsdText } from '../../src/domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import type { HeldRow } from '../../src/pricing/history/read-rows.ts'
import { putPriceDoubts } from '../../src/pricing/refresh/price-doubts.ts'
import { startReceiver } from '../alerts/receiver.ts'
import { type Stand, settled, signIn, startStand, violations } from './stand.ts'

let stand: Stand

beforeAll(async () => {
  stand = await startStand()
})
afterAll(() => stand?.close())

/** Opens the dialog behind a button, fills it in, sends it, and gives the dialog back. */
async function act(page: Page, button: Locator, texts: Readonly<Record<string, string>> = {}) {
  await button.click()
  const dialog = page.getByRole('dialog')
  for (const [label, text] of Object.entries(texts)) await dialog.getByLabel(label).fill(text)
  expect(await violations(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await dialog.locator('button[type=submit]').click()
  return dialog
}

async function closed(page: Page): Promise<void> {
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  await settled(page)
}

test('a limit is changed, raised and lifted', async () => {
  const { context, page } = await stand.open({ viewport: { width: 375, height: 800 } })
  const { pool, addClient } = stand.stack
  const { id } = await addClient('limited')
  const amounts = async () => {
    const { rows } = await pool.query('select amount from tallygate.limits where client_id = $1', [id])
    return rows.map(({ amount }) => `${amount}`)
  }
  await setLimits(
    pool,
    { clientId: id, keyId: null, model: null },
    [{ kind: 'budget', per: 'month', isSoft: false, amount: 20_000_000_000_000n }],
    'a test',
  )
  await signIn(stand, page, '#/limits?client=limited&sort=id')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await act(page, button('Change'), { Limit: '30' })
  await closed(page)
  expect(await amounts()).toEqual(['30000000000000'])
  await act(page, button('Raise'), { To: '50', Until: '4h' })
  await closed(page)
  await expect.poll(() => page.getByRole('table').first().innerText()).toContain('raised until')
  await act(page, button('Lift'))
  await closed(page)
  await page.getByText('There is no such limit.').waitFor()
  await context.close()
})

test('a limit is tried, and enforced once it is seen what it would refuse', async () => {
  const { context, page } = await stand.open({ viewport: { width: 375, height: 800 } })
  const { pool, addClient } = stand.stack
  const { id } = await addClient('tried')
  await signIn(stand, page, '#/limits?client=tried&sort=id')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await act(page, button('Try a limit'), { 'Requests a minute': '3' })
  await closed(page)
  // A day that no worker counts.
  await pool.query('update tallygate.tried_limits set from_day = from_day + 2')
  await pool.query(
    `insert into tallygate.tried_limit_days
     select id, (now() at time zone 'UTC')::date, 9, 6, 2500000000000, now(), now(), now() from tallygate.tried_limits
     on conflict (limit_id, day) do update set calls = 9, refused = 6, refused_pico = 2500000000000`,
  )
  await page.reload()
  await page.getByText('6 of 9').waitFor()
  await act(page, button('Enforce'))
  await closed(page)
  await page.getByText('No limit is tried.').waitFor()
  const { rows } = await pool.query('select kind, amount from tallygate.limits where client_id = $1', [id])
  expect(rows).toEqual([{ kind: 'requests', amount: '3' }])
  await context.close()
})

test('a key is rotated, and a token made: each is shown once', async () => {
  const { context, page } = await stand.open()
  const old = await stand.stack.addClient('rotated')
  await signIn(stand, page, '#/keys?client=rotated')
  const rotated = await act(page, page.getByRole('button', { name: 'Rotate' }), {
    'The old one goes on for': '1h',
  })
  const key = await rotated.locator('code').innerText()
  expect(key).not.toBe(old.key)
  expect(await violations(page)).toEqual([])
  await rotated.getByRole('button', { name: 'Close' }).click()
  await closed(page)
  await page.goto(`${stand.operatorUrl}#/audit`)
  const made = await act(page, page.getByRole('button', { name: 'Make a token' }), { Name: 'made here' })
  expect(await made.locator('code').innerText()).toMatch(/^tga_/)
  await made.getByRole('button', { name: 'Close' }).click()
  await expect.poll(() => page.getByText('made here', { exact: true }).count()).toBeGreaterThan(0)
  await context.close()
})

test('a receiver of alerts is added, and a sample is tried at it', async () => {
  const { context, page } = await stand.open()
  const receiver = await startReceiver()
  await signIn(stand, page, '#/alerts')
  const added = await act(page, page.getByRole('button', { name: 'Add a receiver' }), {
    URL: receiver.url,
    Kinds: 'budget, gap',
  })
  await added.locator('code').waitFor()
  await added.getByRole('button', { name: 'Close' }).click()
  const tried = await act(page, page.getByRole('button', { name: 'Try' }))
  await expect.poll(() => tried.innerText()).toContain('It was taken, with 2')
  await receiver.stop()
  await context.close()
})

test('a newer price that waits is taken, and the past priced again once its change was seen', async () => {
  const { context, page } = await stand.open()
  const providers: { id: string; models: NonNullable<HeldRow['offered']>[] }[] = JSON.parse(
    bundledText('genai-prices'),
  )
  const offered = providers.find(({ id }) => id === 'openai')?.models.find(({ id }) => id === 'gpt-4o')
  if (offered === undefined) throw new Error('the list has no gpt-4o')
  const row = { provider: 'openai', model: 'gpt-4o', why: 'input_mtok from $2.5 to $250', offered }
  await putPriceDoubts(stand.stack.pool, 'genai-prices', [row], 'https://example.com/prices')
  await signIn(stand, page, '#/prices')
  await act(page, page.getByRole('button', { name: 'Take it' }))
  await page.getByText('No newer price waits.').waitFor()
  await closed(page)
  const since = addDays(utcDayOf(Date.now()), -3)
  await act(page, page.getByRole('button', { name: 'Try a repricing' }), { Model: 'gpt-4o', Since: since })
  await closed(page)
  await expect.poll(() => page.getByRole('status').innerText()).toContain('Nothing is written yet.')
  const sum = async () =>
    (await stand.stack.pool.query('select count(*)::int as found from tallygate.adjustments')).rows[0].found
  expect(await sum()).toBe(0)
  await act(page, page.getByRole('button', { name: 'Correct the past' }), { Reason: 'a test' })
  await closed(page)
  await expect.poll(() => page.getByRole('status').innerText()).toContain('Corrected:')
  expect(await sum()).toBe(1)
  await context.close()
})

test('the totals are verified on demand, and what differs is named', async () => {
  const { context, page } = await stand.open({ viewport: { width: 320, height: 700 } })
  await signIn(stand, page, '#/ledger')
  const found = await act(page, page.getByRole('button', { name: 'Verify' }))
  // Most rows of this database were written by hand, without calls.
  await expect
    .poll(() => found.getByRole('status').innerText())
    .toMatch(/rows? of totals and [0-9,]+ calls? of/)
  expect(await found.getByText('Producers counted').innerText()).toMatch(/requests in all/)
  expect(await violations(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await context.close()
})

test('an axis is picked and explored, and errors lead to the calls that failed', async () => {
  const { context, page } = await stand.open()
  const [{ id } = { id: '' }] = stand.clients
  await stand.stack.pool.query(`insert into tallygate.axes (client_id, name) values ($1, 'team')`, [id])
  await signIn(stand, page, '#/explore?period=7d&model=gpt-4o')
  await settled(page)
  await page.locator('tbody a[href*="failed=true"]').first().click()
  await page.getByRole('heading', { name: 'Failed calls, the newest first' }).waitFor()
  await page.getByText('Last hour', { exact: true }).click()
  await page.getByText('Live', { exact: true }).click()
  await page.getByRole('heading', { name: 'Failed calls of the last hour' }).waitFor()
  await settled(page)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await violations(page)).toEqual([])
  await page.goto(`${stand.operatorUrl}#/explore?period=7d&model=gpt-4o&sort=p95`)
  await page.getByLabel('Axis', { exact: true }).selectOption('team')
  await expect.poll(() => page.locator('tbody').innerText()).toContain('(none)')
  await page.getByRole('link', { name: '(none)' }).last().click()
  await expect.poll(() => page.getByLabel('Its value').inputValue()).toBe('(none)')
  await settled(page)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await violations(page)).toEqual([])
  await context.close()
})

/** The cells of a card's rows, as texts. */
async function rowsOf(page: Page, card: string): Promise<readonly string[]> {
  return await page.getByRole('region', { name: card, exact: true }).locator('tbody tr').allInnerTexts()
}

test('clients are moved into a tree of groups, whose spend leads down to them', async () => {
  const { context, page } = await stand.open({ viewport: { width: 375, height: 800 } })
  const month = utcDayOf(Date.now()).slice(0, 7)
  const make = page.getByRole('button', { name: 'Make a group' })
  await signIn(stand, page, '#/groups')
  await act(page, make, { Name: 'company' })
  await closed(page)
  await make.click()
  await page.getByRole('dialog').getByLabel('In', { exact: true }).selectOption('company')
  await page.getByRole('dialog').getByLabel('Name').fill('search <b>')
  await page.getByRole('dialog').locator('button[type=submit]').click()
  await closed(page)
  await page.goto(`${stand.operatorUrl}#/clients`)
  const own = page.locator('tr', { hasText: 'initech' }).getByRole('button', { name: 'Move' })
  await act(page, own, { 'Into the group': 'search <b>', 'From the day': `${month}-01` })
  await closed(page)
  const { rows } = await stand.stack.pool.query(
    `select sum(u.cost_pico + u.adjusted_pico)::text as pico from tallygate.daily_usage u
     join tallygate.clients c on c.id = u.client_id where c.name = 'initech' and to_char(u.day, 'YYYY-MM') = $1`,
    [month],
  )
  const cost = exactUsd(picoToUsdText(BigInt(rows[0].pico)))
  await page.goto(`${stand.operatorUrl}#/groups`)
  const tree = page.getByRole('region', { name: `Groups in ${month}` })
  for (const group of ['company', 'search <b>'])
    await expect
      .poll(() =>
        tree.locator('tr', { hasText: group }).locator('td.main span').first().getAttribute('title'),
      )
      .toBe(cost)
  await tree.locator('tr', { hasText: 'search <b>' }).getByRole('link', { name: 'by days' }).click()
  await expect.poll(() => rowsOf(page, 'Who was in the group, and when')).toHaveLength(1)
  expect((await rowsOf(page, 'Who was in the group, and when'))[0]).toContain('initech')
  // Down to the one right below it, to its own clients, and to their models.
  await tree.getByRole('link', { name: 'company' }).click()
  for (const name of ['search <b>', 'search <b>', 'initech', 'gpt-4o-mini']) {
    const link = page.locator('tbody').getByRole('link', { name, exact: true })
    // The rows before these may have a link of that name, too, which led here.
    await expect.poll(async () => (await link.getAttribute('href')) === new URL(page.url()).hash).toBe(false)
    await settled(page)
    expect(await violations(page)).toEqual([])
    expect(await page.getByRole('alert').count()).toBe(0)
    await link.click()
  }
  await page.goto(`${stand.operatorUrl}#/groups`)
  const row = tree.locator('tr', { hasText: 'search <b>' })
  await act(page, row.getByRole('button', { name: 'Rename' }), { Name: 'research' })
  await closed(page)
  await act(page, tree.locator('tr', { hasText: 'research' }).getByRole('button', { name: 'Take out' }))
  await closed(page)
  await act(page, tree.locator('tr', { hasText: 'research' }).getByRole('button', { name: 'End' }))
  await closed(page)
  const groups = await stand.stack.pool.query('select name from tallygate.groups where removed_at is null')
  expect(groups.rows).toEqual([{ name: 'company' }])
  await context.close()
})

test('a charge is a line of its client’s statement until it is removed, and a contract is set and ended', async () => {
  const { context, page } = await stand.open({ viewport: { width: 320, height: 700 } })
  const today = utcDayOf(Date.now())
  await signIn(stand, page, '#/charges?client=acme')
  await act(page, page.getByRole('button', { name: 'Set a charge' }), {
    ...{ Name: 'INV-7/1', Service: 'VAT <b>', USD: '41.20', 'From the day': today, Reason: 'invoice 7' },
  })
  await closed(page)
  await page.locator('tbody').getByRole('link', { name: 'acme' }).first().click()
  await expect.poll(() => page.getByRole('table').first().innerText()).toMatch(/VAT <b>[\s\S]*41\.2/)
  await expect.poll(() => page.locator('.facts').innerText()).toMatch(/Charges, USD\s+41\.2/)
  await settled(page)
  expect(await violations(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download as it is checked' }).click(),
  ])
  expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toMatchObject({
    statement: { client: 'acme', charges_usd: '41.2' },
  })
  await page.goto(`${stand.operatorUrl}#/charges?client=acme`)
  await act(page, page.locator('tr', { hasText: 'INV-7/1' }).getByRole('button', { name: 'Remove' }))
  await page.getByText('Nothing is charged beside calls.').waitFor()
  await closed(page)
  const button = page.getByRole('button', { name: 'Set a contract' })
  await act(page, button, { 'From the day': '2026-01-01', Model: 'gpt-4o*', 'Part of the list price': '0.9' })
  await closed(page)
  await act(page, page.getByRole('button', { name: 'End' }), { 'From the day': '2026-02-01' })
  await closed(page)
  const { rows } = await stand.stack.pool.query(
    'select model, from_day::text, factor from tallygate.contracts order by from_day',
  )
  expect(rows).toEqual([
    { model: 'gpt-4o*', from_day: '2026-01-01', factor: '0.9' },
    { model: 'gpt-4o*', from_day: '2026-02-01', factor: '1.0' },
  ])
  await context.close()
})

test('a month that is over is closed once what may still change it was named, and never changes', async () => {
  const { context, page } = await stand.open()
  // The first month of acme: months are closed in their order.
  const { rows } = await stand.stack.pool.query(
    `select to_char(min(day), 'YYYY-MM') as first from tallygate.daily_usage where client_id = $1`,
    [stand.clients[0]?.id],
  )
  await signIn(stand, page, `#/statements?client=acme&month=${rows[0].first}`)
  await act(page, page.getByRole('button', { name: 'Close the month' }))
  await closed(page)
  await expect.poll(() => page.locator('.facts').innerText()).toMatch(/closed .* UTC[\s\S]*SHA-256/)
  await expect.poll(() => rowsOf(page, 'Closed months')).toHaveLength(1)
  expect(await page.getByRole('button', { name: 'Close the month' }).count()).toBe(0)
  expect(await violations(page)).toEqual([])
  // The list leads to a client by its id: names change.
  await page.getByRole('region', { name: 'Closed months' }).getByRole('link', { name: 'acme' }).click()
  await expect.poll(() => page.getByLabel('Client').inputValue()).toBe(stand.clients[0]?.id)
  await settled(page)
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(await rowsOf(page, 'Closed months')).toHaveLength(1)
  await context.close()
})

test('a dialog stays about what it was opened for, however rows move meanwhile', async () => {
  const { context, page } = await stand.open()
  await stand.stack.addClient('shifted')
  await signIn(stand, page, '#/clients')
  await page.locator('tr', { hasText: 'shifted' }).getByRole('button', { name: 'Disable' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('shifted').waitFor()
  await stand.stack.addClient('a-first-one')
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
  await page.locator('tr', { hasText: 'a-first-one' }).waitFor()
  expect(await dialog.innerText()).toContain('shifted')
  await dialog.locator('button[type=submit]').click()
  await closed(page)
  const { rows } = await stand.stack.pool.query('select name from tallygate.clients where disabled')
  expect(rows).toEqual([{ name: 'shifted' }])
  await context.close()
})
