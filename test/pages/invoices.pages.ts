import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Reconciliation } from '../../pages/operator/answers.ts'
import { exactUsd, fullMonth, plural, shortDays, usd, words } from '../../pages/shared/format.ts'
import { firstOfMonth } from '../../src/domain/period.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { run } from '../cli/command-line.ts'
import { invoiceOf, rowsOf, type Stand, settled, signIn, startStand, violations } from './stand.ts'

const COMPARED = 'An invoice and what was counted'
/** The month before this one is over: nothing comes to its totals any more. */
const LAST = addDays(firstOfMonth(utcDayOf(Date.now())), -1)
const MONTH = LAST.slice(0, 7)

let stand: Stand

beforeAll(async () => {
  stand = await startStand()
  await stand.change('invoices', {
    source: 'openai <i>',
    text: invoiceOf([
      [addDays(LAST, -1), '3.17', 'Usage', 'gpt-4o-mini input'],
      [LAST, '2.0000001', 'Usage', 'gpt-4o input'],
      [LAST, '12.5', 'Usage', 'o1-pro input'],
      [LAST, '0.04', 'Tax', 'VAT'],
    ]),
  })
})
afterAll(() => stand?.close())

/** What the command says of the month, and how it ends. */
async function commanded() {
  const env = { DATABASE_URL: stand.stack.env.DATABASE_URL ?? '' }
  const { code, out } = await run(env, 'reconcile', '--provider', 'openai', '--month', MONTH, '--json')
  const { invoice }: Reconciliation = JSON.parse(out)
  if (invoice === null) throw new Error('no invoice')
  return { code, invoice }
}

test('an invoice has the figures of the command, each difference with its class and what repairs it', async () => {
  const { code, invoice } = await commanded()
  const classes = invoice.differences.map((one) => one.class)
  for (const one of ['other_key', 'fee', 'unexplained'] as const) expect(classes).toContain(one)
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/invoices')
  await settled(page)
  expect(await rowsOf(page, COMPARED)).toEqual(
    invoice.differences.map((one) => ({
      Class: words(one.class),
      Model: one.model + one.remark,
      Days: shortDays(one.from, one.to) + (one.from === one.to ? '' : plural(one.days, 'day')),
      Amount: exactUsd(one.amount_usd),
      'Without signs': exactUsd(one.gross_usd),
    })),
  )
  const [ours, invoiced, unexplained] = [invoice.ours_usd, invoice.invoice_usd, invoice.unexplained_usd].map(
    (amount) => usd(Number(amount)),
  )
  expect(await page.locator('.headline').innerText()).toBe(
    `${fullMonth(MONTH)}, openai: ours ${ours}, invoice ${invoiced}, ${unexplained} not explained.`,
  )
  const [of, repairs] = await page.locator('.facts').all()
  const listed = ((await of?.locator('dd').allInnerTexts()) ?? []).slice(1)
  const part = 1 - Number(invoice.unexplained_usd) / Number(invoice.invoice_usd)
  expect(listed.slice(0, -1)).toEqual([
    invoice.ours_usd,
    invoice.invoice_usd,
    invoice.difference_usd,
    invoice.unexplained_usd,
  ])
  expect(Number.parseFloat(listed.at(-1) ?? '')).toBeCloseTo(Math.max(0, part * 100), 1)
  expect(await repairs?.locator('dd').allInnerTexts()).toEqual([
    ...new Set(invoice.differences.map(({ repair }) => repair)),
  ])
  expect(await page.locator('.notice.note').count()).toBe(code)
  await context.close()
})

test('month and provider are in the address, and where no import covers them that is said', async () => {
  const { context, page } = await stand.open()
  await signIn(stand, page, '#/invoices')
  await settled(page)
  await page.getByLabel('Month').fill('2020-01')
  const said = page.getByText('No invoice of openai covers a day of 2020-01.')
  await said.waitFor()
  expect(page.url()).toContain('month=2020-01')
  expect(await violations(page)).toEqual([])
  await page.reload()
  await said.waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.getByRole('region', { name: 'Imported' }).getByRole('link', { name: 'openai' }).click()
  await expect.poll(() => rowsOf(page, COMPARED)).not.toEqual([])
  expect(page.url()).toContain(`month=${MONTH}`)
  await context.close()
})

test('an import is removed where that is confirmed', async () => {
  const { context, page } = await stand.open({ viewport: { width: 320, height: 700 } })
  await signIn(stand, page, `#/invoices?provider=openai&month=${MONTH}`)
  await settled(page)
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Remove' }).click()
  expect(await dialog.innerText()).toContain('openai <i>')
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  expect((await commanded()).invoice.differences).not.toEqual([])
  await page.getByRole('button', { name: 'Remove' }).click()
  await dialog.locator('button[type=submit]').click()
  await page.getByText('No invoice was imported').waitFor()
  await expect.poll(() => page.locator('.headline').count()).toBe(0)
  const { rowCount } = await stand.stack.pool.query('select from tallygate.invoice_rows')
  expect(rowCount).toBe(0)
  await context.close()
})
