import { readFile } from 'node:fs/promises'
import type { Locator, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { watchWire } from './chromium.ts'
import {
  ADMIN_TOKEN,
  invoiceOf,
  NAMES,
  type Stand,
  settled,
  signIn,
  startStand,
  violations,
} from './stand.ts'

const VIEWS = [
  'overview',
  'explore',
  'calls',
  'clients?group=engineering',
  'groups?group=engineering',
  'keys',
  'limits',
  'alerts',
  'prices',
  'charges',
  'invoices',
  'statements?client=acme',
  'ledger',
  'audit',
]

let stand: Stand

beforeAll(async () => {
  stand = await startStand()
  await organize(stand)
})
afterAll(() => stand?.close())

/** A group in a group, with clients; charges of a client and of none, a contract, and an invoice. */
async function organize({ clients, change }: Stand): Promise<void> {
  for (const body of [{ name: 'company' }, { name: 'engineering', into: 'company' }, { name: '<i>ops</i>' }])
    await change('groups', body)
  for (const { id } of clients.slice(0, 2)) await change(`clients/${id}/move`, { into: 'engineering' })
  const day = utcDayOf(Date.now())
  const charge = { from: day, reason: 'invoice 7', amount_usd: '41.20' }
  await change('charges', { ...charge, name: 'INV-7/1', category: 'tax', service: 'VAT', client: 'acme' })
  await change('charges', {
    ...{ ...charge, name: '<b>PTU</b>', category: 'commitment', service: 'PTU gpt-4o', upstream: 'default' },
    ...{ quantity: '50', unit: 'PTU' },
  })
  await change('contracts', { model: 'gpt-4o*', from: day, factor: '0.93', reference: 'C-1' })
  await change('invoices', {
    source: '<b>other</b>',
    text: invoiceOf([
      [day, '41207.13', 'Usage', 'gpt-4o input'],
      [day, '12.5', 'Usage', 'o1-pro input'],
      [day, '0.04', 'Tax', 'VAT <b>'],
    ]),
  })
}

const SCREENS = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['at 320 px', { colorScheme: 'light', viewport: { width: 320, height: 700 } }],
  ['at 375 px', { colorScheme: 'dark', viewport: { width: 375, height: 800 } }],
] as const

describe.each(SCREENS)('%s', (_, options) => {
  test('every view shows its parts, is accessible, stays in its frame, and breaks no rule of the policy', async () => {
    const { context, page } = await stand.open(options)
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
    page.on('dialog', () => problems.push('a dialog of a name'))
    await page.goto(stand.operatorUrl)
    expect(await violations(page)).toEqual([])
    await signIn(stand, page)
    for (const view of VIEWS) {
      await page.goto(`${stand.operatorUrl}#/${view}`)
      await settled(page)
      expect([view, await violations(page)]).toEqual([view, []])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), view).toBe(true)
      expect(await page.getByRole('alert').count(), view).toBe(0)
    }
    await page.goto(stand.portalUrl)
    await page.getByLabel('API key').fill(stand.clients[1]?.key ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await settled(page)
    expect(await violations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(problems).toEqual([])
    await context.close()
  })
})

/** Every list is empty; what else was answered stays. */
async function emptied(route: Route): Promise<void> {
  // Without what it has already, it is answered whole.
  const { 'if-none-match': _known, ...headers } = route.request().headers()
  const answer: unknown = await (await route.fetch({ headers })).json()
  const without = Array.isArray(answer)
    ? []
    : Object.fromEntries(
        Object.entries(answer as object).map(([name, one]) => [name, Array.isArray(one) ? [] : one]),
      )
  await route.fulfill({ status: 200, json: without })
}

const failed = (route: Route) =>
  route.fulfill({ status: 503, json: { error: { message: 'A store is away.' } } })

test.each([
  ['empty', emptied],
  ['failed', failed],
])('every view is accessible, too, where all of its parts are %s', async (state, answer) => {
  const { context, page } = await stand.open({ viewport: { width: 375, height: 800 } })
  await signIn(stand, page, '#/explore')
  await page.route('**/admin/v1/**', answer)
  for (const view of VIEWS) {
    await page.goto(`${stand.operatorUrl}#/${view}`)
    // A part of which nothing is known stays busy, and says why.
    if (state === 'empty') await settled(page)
    else await page.getByRole('alert').first().waitFor()
    expect([view, await violations(page)]).toEqual([view, []])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), view).toBe(true)
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.close()
})

test('a part that fails shows nothing of what was chosen before', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/charges')
  await page.getByText('INV-7/1').waitFor()
  await page.route('**/admin/v1/charges?month=2026-01', failed)
  await page.goto(`${stand.operatorUrl}#/charges?month=2026-01`)
  await page.getByRole('alert').waitFor()
  expect(await page.getByText('INV-7/1').count()).toBe(0)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.close()
})

test('an address that names a figure that there is not shows the cost', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/explore?measure=toString')
  await page.getByRole('region', { name: 'Cost per UTC day' }).getByRole('table').first().waitFor()
  await context.close()
})

/** Goes on by Tab until this has the focus. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let steps = 0; steps < 60; steps += 1) {
    await page.keyboard.press('Tab')
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
  }
  throw new Error('Tab never comes there')
}

test('by keyboard alone one signs in, opens a view and a dialog, and is back at the button behind it', async () => {
  const { context, page } = await stand.open()
  await page.goto(stand.operatorUrl)
  const hasFocus = (one: Locator) => one.evaluate((element) => element.matches(':focus-within'))
  await expect.poll(() => hasFocus(page.getByLabel('Admin token'))).toBe(true)
  await page.keyboard.type(ADMIN_TOKEN)
  await page.keyboard.press('Enter')
  await page.getByRole('navigation').waitFor()
  await tabTo(page, page.getByRole('link', { name: 'Limits', exact: true }))
  await page.keyboard.press('Enter')
  await settled(page)
  const button = page.getByRole('button', { name: 'Set a limit' })
  await tabTo(page, button)
  await page.keyboard.press('Enter')
  expect(await hasFocus(page.getByRole('dialog'))).toBe(true)
  await page.keyboard.press('Escape')
  await expect.poll(() => hasFocus(button)).toBe(true)
  await context.close()
})

test('names that are markup, formulas or turn the line around are shown as text', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/explore?group_by=client')
  await settled(page)
  const table = page.getByRole('table')
  for (const name of NAMES) expect(await table.getByText(name, { exact: true }).count()).toBe(1)
  expect(await page.locator('main img').count()).toBe(0)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  const text = await readFile(await download.path(), 'utf8')
  expect(text).toMatch(/^Client,Cost,/)
  expect(text).toContain(`\r\n'=1+2,`)
  expect(text).toContain('\r\n<img src=x onerror=alert(1)>,')
  await context.close()
})

test('what is chosen is in the address: back, reload and a copied link show the same', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/explore')
  await settled(page)
  await page.getByText('7 days', { exact: true }).click()
  await settled(page)
  await page.getByText('Requests', { exact: true }).first().click()
  await page.getByLabel('By', { exact: true }).selectOption('model')
  await settled(page)
  const sorted = page.waitForResponse((answer) => answer.url().includes('sort=errors'))
  await page.getByRole('button', { name: 'Errors' }).click()
  // Before it is asked again, all parts are settled as they were.
  await sorted
  const shown = async (of: Page) => {
    await settled(of)
    return [await of.locator('tbody').allInnerTexts(), await of.locator('input:checked').count()]
  }
  const before = await shown(page)
  const url = page.url()
  await page.reload()
  expect(await shown(page)).toEqual(before)
  await page.evaluate('history.back()')
  await expect.poll(() => page.url()).not.toContain('sort=errors')
  await page.evaluate('history.forward()')
  await expect.poll(() => shown(page)).toEqual(before)
  const copy = await context.newPage()
  // Each tab signs in for itself: the token is in no storage that tabs share.
  await copy.goto(url)
  await copy.getByLabel('Admin token').fill(ADMIN_TOKEN)
  await copy.getByRole('button', { name: 'Sign in' }).click()
  expect(await shown(copy)).toEqual(before)
  await context.close()
})

test('budgets are in the order of the server, and refused calls are named with their reasons', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/limits')
  await settled(page)
  const { rows } = await stand.stack.pool.query<{ name: string }>(
    'select name from tallygate.clients where not disabled',
  )
  expect(rows).toHaveLength(NAMES.length)
  const budgets = page.locator('section.card').first().locator('tbody tr')
  await expect.poll(() => budgets.count()).toBe(NAMES.length)
  expect(await budgets.first().innerText()).toMatch(/spent/)
  expect(await budgets.last().innerText()).toMatch(/initech/)
  await expect
    .poll(() => page.getByText('budget', { exact: true }).count())
    .toBeGreaterThanOrEqual(NAMES.length)
  await context.close()
})

test('a key is made and shown once, called with, its call found with its cost, and revoked where that is confirmed', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/keys?client=initech')
  await page.getByRole('button', { name: 'Make a key' }).click()
  await page.getByLabel('Name').fill('made here')
  await page.getByRole('dialog').getByRole('button', { name: 'Make a key' }).click()
  const key = await page.getByRole('dialog').locator('code').innerText()
  await page.getByRole('button', { name: 'Close' }).click()
  await expect.poll(() => page.getByText('made here').count()).toBe(1)
  await expect.poll(() => page.content()).not.toContain(key)
  const call = () =>
    fetch(`${stand.stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
    })
  const answer = await call()
  expect(answer.status).toBe(200)
  const id = answer.headers.get('x-tallygate-call-id') ?? ''
  await expect
    .poll(
      async () =>
        (await stand.stack.pool.query('select from tallygate.calls where call_id = $1', [id])).rowCount,
    )
    .toBe(1)
  await page.goto(`${stand.operatorUrl}#/calls?client=initech`)
  await page.locator(`a[href*="${id}"]`).click()
  await expect.poll(() => page.locator('.facts').innerText()).toContain(id)
  const { rows } = await stand.stack.pool.query('select cost_pico from tallygate.calls where call_id = $1', [
    id,
  ])
  const cost = (Number(rows[0]?.cost_pico) / 1e12).toFixed(12).replace(/0+$/, '')
  await expect.poll(() => page.locator('.total').innerText()).toBe(`In all: ${cost} USD`)

  await page.goto(`${stand.operatorUrl}#/keys?client=initech`)
  const row = page.locator('tr', { hasText: 'made here' }).first()
  await row.getByRole('button', { name: 'Revoke' }).click()
  expect(await page.getByRole('dialog').innerText()).toContain('for good')
  await page.keyboard.press('Escape')
  expect((await call()).status).toBe(200)
  await row.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expect.poll(() => row.innerText()).toContain('revoked')
  await expect.poll(async () => (await call()).status).toBe(403)
  await context.close()
})

test('a part that fails says so alone, and a wrong token is named', async () => {
  const { context, page } = await stand.open()
  await page.route('**/admin/v1/limits**', failed)
  await signIn(stand, page)
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('A store is away.')
  await expect.poll(() => page.locator('svg').count()).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('not a token of this gateway')
  await context.close()
})

test('the first figures, chart and table are there after at most 5 requests and 120 KB', async () => {
  const { context, page } = await stand.open()
  const wire = await watchWire(page)
  await signIn(stand, page)
  const first = page.locator('section.card').first()
  for (const part of ['.tiles', '.chart svg', 'tbody tr']) await first.locator(part).first().waitFor()
  // Those of the parts behind it are asked after it, and may be under way by now.
  const own = wire.urls.findIndex((url) => url.includes('/admin/v1/report?') && url.includes('interval=day'))
  expect(own).toBeGreaterThan(0)
  const begun = wire.urls.slice(0, own + 1)
  expect(begun.length, begun.join(' ')).toBeLessThanOrEqual(5)
  expect(wire.answers.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(120_000)
  await context.close()
})
