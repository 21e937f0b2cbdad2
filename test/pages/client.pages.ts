import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeText, count, exactUsd } from '../../pages/shared/format.ts'
import { picoToUsdText } from '../../src/domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { watchWire } from './chromium.ts'
import { rowsOf, type Stand, settled, startStand } from './stand.ts'

// What a client sees of itself, and that it is what was counted.

const DAYS = 7

let stand: Stand
const today = utcDayOf(Date.now())

beforeAll(async () => {
  stand = await startStand()
})
afterAll(() => stand?.close())

/** The week of the first client, at its page. */
async function openWeek(): Promise<{ page: Page; close: () => Promise<void> }> {
  const { context, page } = await stand.open()
  await page.goto(`${stand.portalUrl}#/usage?period=7d`)
  await page.getByLabel('API key').fill(stand.clients[0]?.key ?? '')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await settled(page)
  return { page, close: () => context.close() }
}

interface Sums {
  readonly model: string
  readonly requests: number
  readonly errors: number
  readonly pico: string
}

/** By model, those that cost most first. */
async function sums(from: string, to: string): Promise<readonly Sums[]> {
  const { rows } = await stand.stack.pool.query<Sums>(
    `select model, sum(requests)::integer as requests, sum(errors)::integer as errors,
       sum(cost_pico)::text as pico
     from tallygate.daily_usage where client_id = $1 and day between $2 and $3
     group by model order by sum(cost_pico) desc, model`,
    [stand.clients[0]?.id, from, to],
  )
  return rows
}

const inAll = (rows: readonly Sums[]) =>
  rows.reduce(
    (sum, { pico, requests }) => ({ pico: sum.pico + BigInt(pico), requests: sum.requests + requests }),
    {
      pico: 0n,
      requests: 0,
    },
  )

test('a client sees in one answer what it used, by model and beside the time before, and it is what was counted', async () => {
  const { page, close } = await openWeek()
  const ours = await sums(addDays(today, 1 - DAYS), today)
  expect(ours.length).toBeGreaterThan(2)
  const shown = await rowsOf(page, 'Used')
  const used = shown.filter(({ Requests }) => Requests !== '0')
  expect(used.map(({ Model, Requests, Errors, Cost }) => [Model, Requests, Errors, Cost])).toEqual(
    ours.map(({ model, requests, errors, pico }) => [
      ...[model, count(requests), count(errors)],
      exactUsd(picoToUsdText(BigInt(pico))),
    ]),
  )
  // Calls that were refused for a budget, which the stand has without their model.
  expect(
    shown.filter(({ Requests }) => Requests === '0').map(({ Model, Refused }) => [Model, Refused]),
  ).toEqual([['(none)', '3']])
  const before = inAll(await sums(addDays(today, 1 - 2 * DAYS), addDays(today, -DAYS)))
  const now = inAll(ours)
  const tile = page.locator('.tile').filter({ hasText: 'Requests' })
  expect(await tile.locator('.amount').innerText()).toBe(count(now.requests))
  expect(await tile.locator('.detail').innerText()).toContain(changeText(now.requests, before.requests))
  await page.locator('.chart svg').waitFor()
  const wire = await watchWire(page)
  await page.reload()
  await settled(page)
  expect(wire.urls.filter((url) => /\/portal\/v1\/(report|usage)/.test(url))).toHaveLength(1)
  await close()
})

test('its rows are sorted by the server, and its file has the days that are seen', async () => {
  const { page, close } = await openWeek()
  const sorted = page.waitForResponse((answer) => answer.url().includes('sort=errors'))
  await page.getByRole('button', { name: 'Errors' }).click()
  await sorted
  const errors = (await sums(addDays(today, 1 - DAYS), today)).map((row) => row.errors)
  await expect
    .poll(async () => (await rowsOf(page, 'Used')).map(({ Errors }) => Errors))
    .toEqual([...errors.toSorted((a, b) => b - a), 0].map(count))
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(download.suggestedFilename()).toBe(`usage-${addDays(today, 1 - DAYS)}-${today}.csv`)
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
  const days = lines.slice(1).map((line) => line.slice(0, 10))
  expect([days.toSorted()[0], days.toSorted().at(-1)]).toEqual([addDays(today, 1 - DAYS), today])
  await close()
})
