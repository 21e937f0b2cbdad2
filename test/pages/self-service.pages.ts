import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGroup } from '../../src/keys/groups/groups.ts'
import { type Company, startCompany } from '../operator/sign-in/company.ts'
import { startStack, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { launchChromium } from './chromium.ts'
import { settled, violations } from './stand.ts'

const SCREENSHOTS = process.env.SCREENSHOTS_DIR

let upstream: TestUpstream
let company: Company
let stack: TestStack
let browser: Browser
let folder: string
let portal: string

beforeAll(async () => {
  const port = await freePort()
  portal = `http://127.0.0.1:${port}`
  upstream = await startUpstream()
  company = await startCompany({ ann: ['leads'], bob: ['search'] }, portal)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-self-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `self_service:
  issuer: ${company.issuer}
  client_id: tallygate
  client_secret_env: OIDC_SECRET
  public_url: ${portal}
  groups: [{ group: search, members: [search], owners: [leads], models: [gpt-4o*], member_budget_usd: 50 }]
`,
  )
  stack = await startStack(upstream.url, {
    env: {
      PORTAL_PORT: `${port}`,
      TALLYGATE_CONFIG: file,
      OIDC_SECRET: 'the-secret-of-the-client',
    },
  })
  await createGroup(stack.pool, 'search', null)
  browser = await launchChromium()
})

afterAll(async () => {
  await browser?.close()
  await stack?.stop()
  company?.close()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The page says where it is reached before it listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise((closed) => server.close(closed))
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function signIn(page: Page, person: string): Promise<void> {
  await page.goto(`${portal}/portal`)
  expect(await violations(page)).toEqual([])
  await page.getByRole('link', { name: "Sign in with the company's account" }).click()
  await page.locator('input[name=login]').fill(person)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  // The provider asks whether the page may know who it is.
  await page.locator('button[type=submit]').click()
  await page.getByRole('navigation').waitFor()
}

async function shown(page: Page, name: string): Promise<void> {
  await settled(page)
  expect(await violations(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  if (SCREENSHOTS !== undefined)
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}

/** Everything that the browser keeps for the page. */
async function kept(page: Page): Promise<string> {
  const stored = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])',
  )
  return `${stored} ${JSON.stringify(await page.context().cookies())}`
}

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 320],
] as const)('a member signs in, makes, rotates and revokes a key, and an owner limits and disables: %s, %i wide', async (colorScheme, width) => {
  const options = { viewport: { width, height: 800 }, colorScheme }
  const [member, owner] = [await browser.newContext(options), await browser.newContext(options)]
  const page = await member.newPage()
  const problems: string[] = []
  await signIn(page, 'bob')
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  expect(page.url()).toBe(`${portal}/portal`)
  expect(await page.getByRole('link', { name: 'Members' }).count()).toBe(0)
  await page.getByRole('link', { name: 'Your keys' }).click()
  await page.getByRole('button', { name: 'Make a key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(`laptop ${colorScheme} ${width}`)
  await dialog.getByLabel('Budget a month').fill('5')
  expect(await violations(page)).toEqual([])
  await dialog.locator('button[type=submit]').click()
  const key = await dialog.locator('code').innerText()
  expect(key).toMatch(/^tg_/)
  expect(await kept(page)).not.toContain(key)
  await dialog.getByRole('button', { name: 'Close' }).click()
  const row = page.locator('tr', { hasText: `laptop ${colorScheme} ${width}` })
  await shown(page, `keys-${colorScheme}-${width}`)
  await row.getByRole('button', { name: 'Rotate' }).click()
  await dialog.getByLabel('The old one goes on for').fill('0s')
  await dialog.locator('button[type=submit]').click()
  await dialog.locator('code').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  const lasting = row.filter({ hasText: 'until' })
  await expect.poll(() => lasting.count()).toBe(1)
  const theirs = await owner.newPage()
  await signIn(theirs, 'ann')
  await theirs.getByRole('link', { name: 'Members' }).click()
  await shown(theirs, `members-${colorScheme}-${width}`)
  const bob = theirs.locator('tr', { hasText: 'member:bob@example.com' })
  await bob.getByRole('button', { name: 'Budget' }).click()
  await theirs.getByLabel('US dollars a month').fill('51')
  await theirs.getByRole('dialog').locator('button[type=submit]').click()
  await expect.poll(() => theirs.getByRole('alert').innerText()).toContain('at most 50')
  await theirs.getByLabel('US dollars a month').fill('40')
  await theirs.getByRole('dialog').locator('button[type=submit]').click()
  await expect.poll(() => bob.innerText()).toContain('$40')
  await lasting.getByRole('button', { name: 'Revoke' }).click()
  await dialog.locator('button[type=submit]').click()
  await expect.poll(() => lasting.count()).toBe(0)
  await bob.getByRole('button', { name: 'Disable' }).click()
  await theirs.getByRole('dialog').locator('button[type=submit]').click()
  await expect.poll(() => bob.innerText()).toContain('disabled')
  // The page of who is out says so, and shows nothing more.
  await expect
    .poll(async () => {
      await page.reload()
      return await page.getByLabel('API key').isVisible()
    })
    .toBe(true)
  await theirs.getByRole('button', { name: 'Sign out' }).click()
  await expect.poll(() => theirs.url()).toContain(company.issuer)
  expect(problems.filter((one) => !one.includes('401'))).toEqual([])
  await stack.pool.query(
    "update tallygate.clients set disabled = false, version = version where name like 'member:%'",
  )
  for (const context of [member, owner]) await context.close()
})

test('the page takes no token of a member from its address, where another page could have written it', async () => {
  const [member, other] = [await browser.newContext(), await browser.newContext()]
  const page = await member.newPage()
  await signIn(page, 'bob')
  const token = await page.evaluate<string>("sessionStorage.getItem('tallygate-portal-token')")
  const theirs = await other.newPage()
  await theirs.goto(`${portal}/portal#token=${token}`)
  await theirs.getByLabel('API key').waitFor()
  expect(await kept(theirs)).not.toContain(token)
  for (const context of [member, other]) await context.close()
})
