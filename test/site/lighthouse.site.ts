import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { findChromium } from '../pages/chromium.ts'
import { cached, run } from '../support/cached-install.ts'

const PACKAGE = 'lighthouse@13.5.0'
const PAGES = ['/', '/run', '/limits']
/** Without performance, which is of the machine and its load: it is shown, and the weight is held by a test. */
const WHOLE = ['accessibility', 'best-practices', 'seo']
const SHOWN = ['first-contentful-paint', 'largest-contentful-paint', 'total-byte-weight']

const reportSchema = z.object({
  categories: z.record(
    z.string(),
    z.object({ score: z.number().nullable(), auditRefs: z.array(z.object({ id: z.string() })) }),
  ),
  audits: z.record(
    z.string(),
    z.object({ title: z.string(), score: z.number().nullable(), displayValue: z.string().optional() }),
  ),
})

let program: string

beforeAll(async () => {
  const folder = await cached('Lighthouse', PACKAGE, async (into) => {
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
    await run('npm', ['install', '--prefix', into, ...quiet, PACKAGE])
  })
  program = join(folder, 'node_modules/lighthouse/cli/index.js')
}, 300_000)

test.each(PAGES)('%s has nothing that Lighthouse finds wrong', async (path) => {
  const { stdout } = await run(
    process.execPath,
    [
      program,
      `${inject('siteUrl')}${path}`,
      '--quiet',
      '--output=json',
      `--only-categories=performance,${WHOLE.join(',')}`,
      '--chrome-flags=--headless=new --no-sandbox --disable-gpu',
    ],
    { env: { ...process.env, CHROME_PATH: findChromium() }, maxBuffer: 2 ** 26 },
  )
  const { categories, audits } = reportSchema.parse(JSON.parse(stdout))
  const shown = SHOWN.map((name) => `${audits[name]?.title} ${audits[name]?.displayValue}`)
  console.log(`${path}: performance ${categories.performance?.score}, ${shown.join(', ')}`)
  const wrong = WHOLE.flatMap((name) => categories[name]?.auditRefs ?? []).flatMap(({ id }) =>
    audits[id]?.score === null || audits[id]?.score === 1 ? [] : [`${id}: ${audits[id]?.title}`],
  )
  expect(wrong).toEqual([])
  expect(audits['cumulative-layout-shift']?.score).toBe(1)
})
