import type { Locator, Page, Response } from 'playwright-core'
import { launchChromium, type Wire, watchWire } from '../../test/pages/chromium.ts'

/** The way from a browser that knows nothing to the first figures. */
export interface First {
  /** Until the sign-in can be filled in, and from the click on it until totals, chart and table are there. */
  readonly formMs: number
  readonly figuresMs: number
  /** Begun until then, and what came over the wire. */
  readonly requests: number
  readonly bytes: number
}

/** Each in a browser of its own, whose caches are empty. */
export async function measureFirst(url: string, token: string, times: number): Promise<readonly First[]> {
  const measured: First[] = []
  for (let time = 0; time < times; time += 1) {
    const browser = await launchChromium()
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const wire = await watchWire(page)
    const startedMs = performance.now()
    await page.goto(url)
    await page.getByLabel('Admin token').waitFor()
    const formMs = performance.now() - startedMs
    await page.getByLabel('Admin token').fill(token)
    const clickedMs = performance.now()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await figures(page)
    const figuresMs = performance.now() - clickedMs
    // Those of the parts behind it are begun with its answer, and are none of the way to it.
    const own = wire.answers.findIndex(
      ({ url: asked }) => asked.includes('/report?') && asked.includes('interval='),
    )
    const bytes = bytesOf({ answers: wire.answers.slice(0, own + 1) })
    measured.push({ formMs, figuresMs, requests: wire.answers[own]?.begun ?? Number.NaN, bytes })
    await browser.close()
  }
  return measured
}

export function bytesOf({ answers }: Pick<Wire, 'answers'>): number {
  return answers.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Totals, chart and table of the first part of the overview. */
async function figures(page: Page): Promise<void> {
  const first = page.locator('section.card').first()
  for (const part of ['.tiles', '.chart svg', 'tbody tr']) await first.locator(part).first().waitFor()
}

/** Opens the overview in a tab, until nothing of it is awaited any more. */
export async function openOverview(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Admin token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await figures(page)
  while ((await page.locator('section[aria-busy=true]').count()) > 0) await page.waitForTimeout(100)
}

export interface Interaction {
  readonly name: string
  readonly ms: number
}

export interface Interactions {
  readonly interactions: readonly Interaction[]
  readonly p95Ms: number
  /** The largest answer of all, over the wire. */
  readonly largest: { readonly url: string; readonly bytes: number }
}

/** A click, and what is asked because of it. */
interface Step {
  readonly name: string
  readonly asks: string
  readonly act: (page: Page) => Promise<unknown>
}

const text = (page: Page, label: string): Locator => page.getByText(label, { exact: true }).first()
const view = (name: string, asks: string): Step => ({
  name: `view ${name}`,
  asks,
  act: (page) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click(),
})
const period = (label: string, asks: string): Step => ({
  name: label,
  asks: `period=${asks}`,
  act: (page) => text(page, label).click(),
})
const choose = (label: string, value: string, asks: string): Step => ({
  name: `${label} ${value}`,
  asks,
  act: (page) => page.getByLabel(label, { exact: true }).selectOption(value),
})
const type = (label: string, value: string, asks: string): Step => ({
  name: `${label} ${value}`,
  asks,
  async act(page) {
    await page.getByLabel(label, { exact: true }).fill(value)
    await page.keyboard.press('Enter')
  },
})
const sort = (heading: string, asks: string): Step => ({
  name: `sorted by ${heading}`,
  asks,
  // Its name for screen readers has the arrow of the order in it.
  act: (page) => page.locator('thead button', { hasText: new RegExp(`^${heading}$`) }).click(),
})

/** What an operator does who looks for who spends what, and for why. */
const STEPS: readonly Step[] = [
  period('7 days', '7d'),
  period('90 days', '90d'),
  period('Last month', 'last_month'),
  { name: 'stacked by model', asks: 'group_by=model', act: (page) => text(page, 'Model').click() },
  view('Explore', 'report?'),
  period('7 days', '7d'),
  sort('Errors', 'sort=errors'),
  sort('Errors', 'order=asc'),
  sort('p95', 'sort=p95'),
  choose('By', 'model', 'group_by=model'),
  sort('Requests', 'sort=requests'),
  choose('By', 'key', 'group_by=key'),
  sort('Cost', 'sort=cost'),
  {
    name: 'next rows',
    asks: 'cursor=',
    act: (page) => page.getByRole('button', { name: 'Next 50 rows' }).click(),
  },
  choose('By', 'client', 'group_by=client'),
  choose('and by', 'model', 'group_by=client%2Cmodel'),
  {
    name: 'beside the time before',
    asks: 'compare=previous',
    act: (page) => text(page, 'beside the time before').click(),
  },
  sort('Change', 'sort=change'),
  period('90 days', '90d'),
  { name: 'by week', asks: 'interval=week', act: (page) => text(page, 'Week').click() },
  type('Name has', 'client 12', 'q=client'),
  view('Explore', 'report?'),
  { name: 'deeper', asks: 'client=client', act: (page) => page.locator('tbody th a').first().click() },
  type('Client', 'client 1', 'client=client+1'),
  view('Calls', 'calls?'),
  type('Client', 'client 1', 'calls?client='),
  view('Clients', 'clients?'),
  view('Keys', 'keys?'),
  type('Client', 'client 1', 'keys?client='),
  view('Limits', 'limits?'),
  view('Alerts', 'alerts'),
  view('Audit', 'audit'),
  view('Ledger', 'ledger'),
  view('Prices', 'unpriced?'),
  view('Overview', 'report?'),
]

const ROUNDS = 2

/** Each step until what it asked for is shown, in a browser that has the page. */
export async function measureInteractions(url: string, token: string): Promise<Interactions> {
  const browser = await launchChromium()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const wire = await watchWire(page)
  await openOverview(page, url, token)
  const interactions: Interaction[] = []
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { name, asks, act } of STEPS) {
      const startedMs = performance.now()
      try {
        const isAnswer = (response: Response) => response.url().includes(asks)
        await Promise.all([page.waitForResponse(isAnswer), act(page)])
      } catch (error) {
        throw new Error(`${name}, at ${page.url()}, asked nothing with ${asks}`, { cause: error })
      }
      await page.locator('section.card[aria-busy=false]').first().waitFor()
      interactions.push({ name, ms: performance.now() - startedMs })
      console.error(`${name}: ${interactions.at(-1)?.ms.toFixed(0)} ms`)
    }
  await browser.close()
  const answers = wire.answers.filter(({ url: asked }) => asked.includes('/admin/v1/'))
  const largest = answers.reduce((one, other) => (other.bytes > one.bytes ? other : one), {
    url: '',
    bytes: 0,
  })
  const sorted = interactions.map(({ ms }) => ms).sort((a, b) => a - b)
  return { interactions, p95Ms: sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN, largest }
}
