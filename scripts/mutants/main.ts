// Breaks the product in many ways, one at a time, in a copy of it, and runs the tests: each has to be seen by `npm test`.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AREAS } from './areas.ts'
import { type Mutant, mutate, readSources } from './mutant.ts'

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

/** The first of these tests that fails; `null`: all pass. */
function firstFailure(config: string, tests: readonly string[]): string | null {
  const vitest = join('node_modules', '.bin', 'vitest')
  const run = spawnSync(vitest, ['run', ...tests, '--config', config, '--bail', '1', '--reporter', 'dot'], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
    maxBuffer: 1 << 28,
  })
  if (run.status === 0) return null
  const output = `${run.stdout}\n${run.stderr}`
  return /FAIL +(?:\|\w+\|)? *(.*)/.exec(output)?.[1] ?? output.trim().slice(-300)
}

const sources = readSources(copy)

interface Tests {
  readonly config: string
  readonly tests: readonly string[]
}

/** Whether one of these tests fails with the mutant. */
function isSeen(area: string, mutant: Mutant, { config, tests }: Tests): boolean {
  const startedAt = performance.now()
  const { file, text } = mutate(sources, mutant)
  writeFileSync(join(copy, file), text)
  const by = firstFailure(config, tests)
  writeFileSync(join(copy, file), sources.get(file) ?? '')
  if (by === null) return false
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  console.log(`seen ${area}: ${mutant.says} (${file}, ${seconds} s)\n  by ${by}`)
  return true
}

let all = 0
let survived = 0
for (const { name, tests, mutants } of areas) {
  const named = new Set(mutants.flatMap(({ test }) => test ?? []))
  const red = firstFailure(UNIT, tests) ?? (named.size === 0 ? null : firstFailure(ALL, [...named]))
  if (red !== null) {
    console.error(`${name}: without a mutant its tests fail, so that they show nothing: ${red}`)
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
console.log(`${all} mutants: ${all - survived} seen, ${survived} survived`)
process.exitCode = survived === 0 ? 0 : 1
