import { readFile } from 'node:fs/promises'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_TOKEN, NAMES, type Stand, startStand } from './stand.ts'

const VIEWS = [
  'overview',
  'explore',
  'calls',
  'clients',
  'keys',
  'limits',
  'alerts',
  'prices',
  'ledger',
  'audit',
]

let stand: Stand

beforeAll(async () => {
  stand = await startStand()
})
afterAll(() => stand?.close())

async function signIn(page: Page, hash = ''): Promise<void> {
  await page.goto(`${stand.operatorUrl}${hash}`)
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation').waitFor()
}

/** Every part of the view is answered. */
async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.locator('section.card').count()).toBeGreaterThan(0)
  await expect.poll(() => page.locator('section[aria-busy=true]').count()).toBe(0)
}

async function violations(page: Page): Promise<readonly string[]> {
  // The policy lets no script of another run in the page; this is the debugger's way in.
  await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate<axe.AxeResults>('axe.run()')
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`))
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
    await signIn(page)
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

test('names that are markup, formulas or turn the line around are shown as text', async () => {
  const { context, page } = await stand.open()
  await signIn(page, '#/explore?group_by=client')
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
  await signIn(page, '#/explore')
  await settled(page)
  await page.getByText('7 days', { exact: true }).click()
  await settled(page)
  await page.getByText('Requests', { exact: true }).first().click()
  await page.getByLabel('By', { exact: true }).selectOption('model')
  await settled(page)
  await page.getByRole('button', { name: 'Errors' }).click()
  await expect.poll(() => page.url()).toContain('sort=errors')
  await settled(page)
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
  expect(await shown(page)).toEqual(before)
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
  await signIn(page, '#/limits')
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
  await signIn(page, '#/keys?client=initech')
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
  await page.route('**/admin/v1/limits**', (route) =>
    route.fulfill({ status: 503, json: { error: { message: 'A store is away.' } } }),
  )
  await signIn(page)
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('A store is away.')
  await expect.poll(() => page.locator('svg').count()).toBeGreaterThan(0)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('not a token of this gateway')
  await context.close()
})

test('the first chart is there after at most 6 requests and 120 KB', async () => {
  const { context, page } = await stand.open()
  await page.goto(stand.operatorUrl)
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN)
  let requests = 0
  let bytes = 0
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.responseReceived', () => {
    requests += 1
  })
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  await page.reload()
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.chart svg').first().waitFor()
  // Those of the parts behind the chart may be under way by now.
  expect(requests).toBeLessThanOrEqual(8)
  expect(bytes).toBeLessThan(120_000)
  await context.close()
})
