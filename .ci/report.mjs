// Times of each suite and of its slowest files against their budgets, and what passed: the last line is "N passed, N failed".
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { relative } from 'node:path'

/** Seconds on two idle cores. */
const BUDGET_S = { test: 300, unit: 30, long: 600, routers: 300, recordings: 60 }
const FILE_BUDGET_S = 20

const [results, ...names] = process.argv.slice(2)
let passed = 0
let skipped = 0
const failures = readdirSync(results).filter((name) => name.endsWith('.failed'))
let failed = failures.length
for (const name of failures) console.log(`${name.replace('.failed', '')}: failed`)

for (const name of names) {
  const file = `${results}/${name}.json`
  if (!existsSync(file) || statSync(file).size === 0) {
    console.log(`${name}: no test was run`)
    failed += 1
    continue
  }
  const report = JSON.parse(readFileSync(file, 'utf8'))
  const files = report.testResults.map((one) => ({
    path: relative('.', one.name),
    seconds: (one.endTime - one.startTime) / 1000,
  }))
  const end = Math.max(...report.testResults.map((one) => one.endTime))
  const seconds = (end - report.startTime) / 1000
  const budget = BUDGET_S[name] ?? Number.NaN
  console.log(
    `${name}: ${report.numPassedTests} tests in ${seconds.toFixed(0)} s, ${seconds > budget ? 'over' : 'within'} its budget of ${budget} s`,
  )
  const slow = files.filter((one) => one.seconds > FILE_BUDGET_S).sort((a, b) => b.seconds - a.seconds)
  for (const one of slow) console.log(`  ${one.seconds.toFixed(1)} s, over ${FILE_BUDGET_S} s: ${one.path}`)
  // A file that could not even be loaded has no tests in it that could fail.
  const unloadable = report.testResults.filter(
    (one) => one.status === 'failed' && one.assertionResults.length === 0,
  )
  for (const one of report.testResults)
    for (const { status, fullName } of one.assertionResults)
      if (status === 'failed') console.log(`  FAILED ${relative('.', one.name)}: ${fullName}`)
  for (const one of unloadable) console.log(`  FAILED ${relative('.', one.name)}: could not be loaded`)
  if (report.numTotalTests === 0) failed += 1
  passed += report.numPassedTests
  failed += report.numFailedTests + unloadable.length
  skipped += report.numPendingTests + report.numTodoTests
}
if (skipped > 0) console.log(`${skipped} skipped`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
