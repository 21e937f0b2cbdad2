import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/**
 * The tests at other hours: before midnight, so that it passes meanwhile, and after it, on days that end a month, a year and a
 * leap year's February. Moves `Date` of every process of ours and `now()` of the tests' databases; Redis keeps its clock.
 *
 *     npm run test:clock                                          # the test files that have to do with dates
 *     npm run test:clock -- --all                                 # the whole suite, which takes its time
 *     npm run test:clock -- --at 2026-12-31T23:58:00Z [FILE...]   # at one moment
 */
const DAYS = ['2027-03-10', '2027-02-28', '2026-12-31', '2028-02-29']
/** What makes a test one of dates: it reads the clock, or counts, keeps and prunes by it. */
const OF_DATES =
  /Date\.now\b|new Date\(\)|utcDayOf|holdClock|aRecord\(|selectToday|addCallDays|expires_in|days=/
/** Its world has a PostgreSQL of its own, whose clock stays: nothing would be kept for a day that has not come there. */
const LEFT_OUT = ['--exclude', 'test/end-to-end/chaos.test.ts']
const PRELOAD = pathToFileURL(join(import.meta.dirname, './shift-clock.mjs')).href
const VITEST = join(import.meta.dirname, '../../node_modules/vitest/vitest.mjs')

const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false }, at: { type: 'string', multiple: true } },
  allowPositionals: true,
})
const files = positionals.length > 0 ? positionals : values.all ? [] : filesOfDates()
const failed: string[] = []
// Midnight is to come while the tests run, of which there are fewer without --all.
const hours = [values.all ? '23:58:00' : '23:59:15', '00:20:00']
const moments = DAYS.flatMap((day) => hours.map((hour) => `${day}T${hour}Z`))
for (const at of values.at ?? moments) {
  const offsetMs = Date.parse(at) - Date.now()
  if (Number.isNaN(offsetMs)) throw new Error(`${at} is not a moment`)
  console.log(
    `\n=== ${at}, ${files.length === 0 ? 'every test file but test/chaos' : `${files.length} test files`}`,
  )
  if ((await runVitest(offsetMs)) !== 0) failed.push(at)
}
console.log(failed.length === 0 ? '\ngreen at every hour' : `\nred at ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

function filesOfDates(): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .filter((file) => OF_DATES.test(readFileSync(file, 'utf8')))
}

async function runVitest(offsetMs: number): Promise<number | null> {
  const env = {
    ...process.env,
    TEST_CLOCK_OFFSET_MS: `${offsetMs}`,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${PRELOAD}`,
  }
  const child = spawn(process.execPath, [VITEST, 'run', ...LEFT_OUT, ...files], { env, stdio: 'inherit' })
  return await new Promise((resolve) => child.once('exit', resolve))
}
