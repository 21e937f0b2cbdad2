import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { loadGatewayConfig } from '../../src/config/config.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createLog } from '../../src/lib/log.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import { addRefusedCalls } from '../../src/limits/table/refused-calls.ts'
import { startWorkers } from '../../workers/workers.ts'
import { addDailyUsage } from '../operator/support/daily-usage.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { CHAT_USAGE, chatAnswer, startUpstream } from '../support/upstream.ts'
import { launchChromium } from './chromium.ts'

export const ADMIN_TOKEN = 'a-token-of-the-operator-long-enough-to-be-none'
/** Names that are markup, a formula, or would turn the line around. */
export const NAMES = ['acme', '<img src=x onerror=alert(1)>', '=1+2', 'evil\u202ecilam', 'initech'] as const
/** It is in no price list. */
export const UNPRICED = 'our-<b>own</b>-model'
const MODELS = ['gpt-4o-mini', 'gpt-4o', UNPRICED] as const
const DAYS = 62

/** A gateway with two months of usage, and a browser before its pages. */
export interface Stand {
  readonly stack: TestStack
  readonly operatorUrl: string
  readonly portalUrl: string
  readonly clients: readonly TestClient[]
  /** Makes something by `/admin/v1`. */
  change(path: string, body: object): Promise<void>
  open(options?: Parameters<Browser['newContext']>[0]): Promise<{ context: BrowserContext; page: Page }>
  close(): Promise<void>
}

export async function startStand(): Promise<Stand> {
  const upstream = await startUpstream((request, response) => {
    const { model } = JSON.parse(`${request.body}`)
    if (model !== UNPRICED) return chatAnswer(request, response)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ id: 'chatcmpl-2', object: 'chat.completion', model, choices: [], usage: CHAT_USAGE }),
    )
  })
  const stack = await startStack(upstream.url, { env: { PORTAL_PORT: '0', ADMIN_TOKEN }, workers: false })
  const clients: TestClient[] = []
  for (const name of NAMES) clients.push(await stack.addClient(name))
  await fill(stack, clients)
  // Only now: they sum up past days once.
  const config = loadGatewayConfig(stack.env)
  const workers = startWorkers({ ...config, log: createLog(config.logLevel, 'test') })
  await call(stack, clients)
  const browser = await launchChromium()
  const adminUrl = `http://127.0.0.1:${stack.gateway.adminAddress?.port}`
  return {
    stack,
    clients,
    operatorUrl: `${adminUrl}/dashboard`,
    portalUrl: `http://127.0.0.1:${stack.gateway.portalAddress?.port}/portal`,
    async change(path, body) {
      const answer = await fetch(`${adminUrl}/admin/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    },
    async open(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
      return { context, page: await context.newPage() }
    },
    async close() {
      await browser.close()
      await workers.close()
      await stack.stop()
      await upstream.close()
    },
  }
}

async function fill(stack: TestStack, clients: readonly TestClient[]): Promise<void> {
  const today = utcDayOf(Date.now())
  for (const [index, { name }] of clients.entries())
    for (const [place, model] of MODELS.entries())
      for (let ago = 0; ago < DAYS; ago += 1 + place) {
        const growth = index === 1 && ago < 7 ? 8 : 1
        const requests = (40 + ((ago * 7 + index * 13 + place * 5) % 30)) * growth
        await addDailyUsage(stack.pool, name, addDays(today, -ago), model, {
          requests,
          errors: ago % 5,
          input_tokens: requests * 900,
          output_tokens: requests * 200,
          unpriced: place === 2 ? requests : 0,
          cost_pico: place === 2 ? '0' : `${BigInt(requests) * 12_345_678_901n * BigInt(5 - index)}`,
        })
      }
  for (const [index, { id }] of clients.entries()) {
    const amount = BigInt(index + 1) * 20_000_000_000_000n
    await setLimits(
      stack.pool,
      { clientId: id, keyId: null, model: null },
      [{ kind: 'budget', per: 'month', isSoft: false, amount }],
      'a test',
    )
    await addRefusedCalls(stack.pool, [
      { day: today, clientId: id, reason: 'budget', keyId: '', model: '', limitId: '', calls: 3 + index },
    ])
  }
}

/** Some calls through the gateway, of which single ones are kept. */
async function call(stack: TestStack, clients: readonly TestClient[]): Promise<void> {
  for (const client of clients)
    for (const model of MODELS) {
      const answer = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
      })
      await answer.arrayBuffer()
    }
}

export async function signIn(stand: Stand, page: Page, hash = ''): Promise<void> {
  await page.goto(`${stand.operatorUrl}${hash}`)
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation').waitFor()
}

/** Every part of the view is answered. */
export async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.locator('section.card').count()).toBeGreaterThan(0)
  await expect.poll(() => page.locator('section[aria-busy=true]').count()).toBe(0)
}

export type Cells = Readonly<Record<string, string>>

/** The rows of a card's table by its headings; money with all of its digits. */
export async function rowsOf(page: Page, card: string): Promise<readonly Cells[]> {
  return await page.evaluate<readonly Cells[]>(
    `(() => {
      const cards = [...document.querySelectorAll('section.card')]
      const table = cards.find((card) => card.querySelector('h2').textContent === ${JSON.stringify(card)})
      const headings = [...(table?.querySelectorAll('thead th') ?? [])].map((cell) => cell.textContent)
      const textOf = (cell) => cell.querySelector('span[title]')?.title ?? cell.textContent
      return [...(table?.querySelectorAll('tbody tr') ?? [])].map((row) =>
        Object.fromEntries([...row.children].map((cell, place) => [headings[place], textOf(cell)])))
    })()`,
  )
}

/** An invoice of OpenAI with FOCUS's columns. */
export function invoiceOf(
  rows: readonly (readonly [day: string, usd: string, category: 'Usage' | 'Tax', meter: string])[],
): string {
  return [
    'BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ProviderName,SkuMeter',
    ...rows.map(([day, usd, category, meter]) => `${usd},USD,${category},${day}T00:00:00Z,OpenAI,${meter}`),
  ].join('\n')
}

export async function violations(page: Page): Promise<readonly string[]> {
  // The policy lets no script of another run in the page; this is the debugger's way in.
  await page.evaluate(axe.source)
  const { violations: found } = await page.evaluate<axe.AxeResults>('axe.run()')
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`))
}
