// Breaks the product in many ways, one at a time, in a copy of it, and runs the tests: each has to be seen by `npm test`.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AREAS } from './areas.ts'
import { type Mutant, mutate, readSources } from './mutant.ts'
import { type Red, readRed } from './red.ts'

const chosen = process.argv[2]
const areas = AREAS.filter(({ name }) => chosen === undefined || name === chosen)
if (areas.length === 0) {
  console.error(`There is no area ${chosen}: ${AREAS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const LEFT_OUT = new Set(['node_modules', '.git', '.data'].map((name) => resolve(name)))
const copy = mkdtempSync(join(tmpdir(), 'tallygate-mutants-'))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
cpSync('.', copy, { recursive: true, filter: (path) => !LEFT_OUT.has(resolve(path)) })
symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))

const ALL = 'vitest.config.ts'
/** A part of these, which starts no servers. */
const UNIT = 'vitest.unit.config.ts'

interface Tests {
  readonly config: string
  readonly tests: readonly string[]
}

/** The first red of these tests; `null`: all pass. */
function firstRed({ config, tests }: Tests): Red | null {
  const vitest = join('node_modules', '.bin', 'vitest')
  const run = spawnSync(vitest, ['run', ...tests, '--config', config, '--bail', '1', '--reporter', 'dot'], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
    maxBuffer: 1 << 28,
  })
  return run.status === 0 ? null : readRed(`${run.stdout}\n${run.stderr}`)
}

const sources = readSources(copy)
const SAID = { failed: 'by', timed_out: 'only by a timeout of', crashed: 'only by a crash of' } as const
let unsure = 0

/** Whether one of these tests is red with the mutant. */
function isSeen(area: string, mutant: Mutant, tests: Tests): boolean {
  const startedAt = performance.now()
  const { file, text } = mutate(sources, mutant)
  writeFileSync(join(copy, file), text)
  const red = firstRed(tests)
  writeFileSync(join(copy, file), sources.get(file) ?? '')
  if (red === null) return false
  // Of all tests none was shown to be green without a mutant.
  const isAll = tests.tests.length === 0
  if (isAll && red.file !== null && firstRed({ config: ALL, tests: [red.file] }) !== null) {
    console.log(`red without the mutant, too: ${red.by}`)
    return false
  }
  if (red.how !== 'failed') unsure += 1
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  console.log(`seen ${area}: ${mutant.says} (${file}, ${seconds} s)\n  ${SAID[red.how]} ${red.by}`)
  return true
}

let all = 0
let survived = 0
for (const { name, tests, mutants } of areas) {
  const named = new Set(mutants.flatMap(({ test }) => test ?? []))
  const red =
    firstRed({ config: UNIT, tests }) ??
    (named.size === 0 ? null : firstRed({ config: ALL, tests: [...named] }))
  if (red !== null) {
    console.error(`${name}: without a mutant its tests fail, so that they show nothing: ${red.by}`)
    process.exit(1)
  }
  const left = mutants.filter((mutant) => {
    const { test } = mutant
    return !isSeen(
      name,
      mutant,
      test === undefined ? { config: UNIT, tests } : { config: ALL, tests: [test] },
    )
  })
  all += mutants.length
  for (const mutant of left) {
    // All of `npm test`, last: it takes minutes.
    console.log(`not seen by those tests ${name}: ${mutant.says}`)
    if (isSeen(name, mutant, { config: ALL, tests: [] })) continue
    survived += 1
    console.log(`SURVIVED ${name}: ${mutant.says}`)
  }
}
const said = unsure === 0 ? '' : `, ${unsure} of them only by a timeout or a crash`
console.log(`${all} mutants: ${all - survived} seen${said}, ${survived} survived`)
process.exitCode = survived === 0 ? 0 : 1
