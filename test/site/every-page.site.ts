import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { launchChromium, watchWire } from '../pages/chromium.ts'

const url = inject('siteUrl')
const pages = inject('sitePages')
const WIDTHS = [320, 1280]
const SCHEMES = ['light', 'dark'] as const
const SCREENSHOTS = process.env.SCREENSHOTS_DIR

/** What the browser has of a page once its scripts ran. */
interface Shown {
  readonly title: string
  readonly description: string
  readonly links: readonly string[]
  readonly ids: readonly string[]
}

const shown = new Map<string, Shown>()
let browser: Browser
let page: Page
/** What was said in the console, and what could not be had, since it was emptied. */
const complaints: string[] = []

beforeAll(async () => {
  browser = await launchChromium()
  page = await browser.newPage()
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`))
})

afterAll(async () => {
  await browser?.close()
})

test.each(pages)('%s can be read by everybody, narrow and wide, light and dark', async (path) => {
  complaints.length = 0
  await page.goto(`${url}${path}`, { waitUntil: 'networkidle' })
  await page.evaluate(axe.source)
  const found: string[] = []
  for (const width of WIDTHS)
    for (const colorScheme of SCHEMES) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const isDark = `document.documentElement.classList.contains('dark') === ${colorScheme === 'dark'}`
      await page.waitForFunction(isDark)
      const reaches = await page.evaluate<number>('document.documentElement.scrollWidth')
      if (reaches > width) found.push(`${width} px: the page reaches to ${reaches}`)
      // Of the rules one alone looks at colours.
      const rules = colorScheme === 'light' ? '' : `{ runOnly: ['color-contrast'] }`
      const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(${rules})`)
      for (const { id, nodes } of violations)
        for (const { target } of nodes) found.push(`${width} px, ${colorScheme}: ${id}: ${target}`)
      if (SCREENSHOTS !== undefined) {
        const name = `${path.slice(1).replaceAll('/', '-') || 'index'}-${width}-${colorScheme}.png`
        await page.screenshot({ path: `${SCREENSHOTS}/${name}` })
      }
    }
  shown.set(
    path,
    await page.evaluate<Shown>(`({
      title: document.title,
      description: document.querySelector('meta[name=description]')?.content ?? '',
      links: [...document.querySelectorAll('a[href]')].map(({ href }) => href),
      ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
    })`),
  )
  expect([...found, ...complaints]).toEqual([])
})

test('each page has a title and a description of its own', () => {
  for (const field of ['title', 'description'] as const) {
    const texts = [...shown.values()].map((one) => one[field])
    expect(texts).not.toContain('')
    expect(texts.filter((text, index) => texts.indexOf(text) !== index)).toEqual([])
  }
})

test('links lead to pages and headings that are there, and from the first page to every one', () => {
  const dead: string[] = []
  const reached = new Set(['/'])
  for (const path of reached)
    for (const link of shown.get(path)?.links ?? []) {
      const { origin, pathname, hash } = new URL(link)
      if (origin !== url) continue
      const target = shown.get(pathname)
      const isThere = hash === '' || target?.ids.includes(decodeURIComponent(hash.slice(1)))
      if (target === undefined || !isThere) dead.push(`${path}: ${link}`)
      else reached.add(pathname)
    }
  expect(dead).toEqual([])
  expect([...reached].sort()).toEqual(pages)
})

test('search finds a page by a word in its text, with the keyboard alone', async () => {
  await page.goto(`${url}/`, { waitUntil: 'networkidle' })
  await page.keyboard.press('Control+k')
  await page.locator('#localsearch-input').fill('JOURNAL_KEEP_SECONDS')
  await page.locator('#localsearch-list [role=option]').first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/[a-z-]+#/)
  expect(await page.locator('main').textContent()).toContain('JOURNAL_KEEP_SECONDS')
})

test('the first page is light', async () => {
  const context = await browser.newContext()
  const first = await context.newPage()
  const wire = await watchWire(first)
  await first.goto(`${url}/`, { waitUntil: 'networkidle' })
  const bytes = wire.answers.reduce((sum, answer) => sum + answer.bytes, 0)
  const [paint] = await first.evaluate<readonly number[]>(
    `performance.getEntriesByName('first-contentful-paint').map(({ startTime }) => startTime)`,
  )
  console.log(`the first page: ${wire.urls.length} requests, ${bytes} bytes, painted after ${paint} ms`)
  await context.close()
  expect(bytes).toBeLessThan(250_000)
})
