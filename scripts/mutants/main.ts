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

/** The first test that fails; `null`: all pass. */
function firstFailure(tests: readonly string[]): string | null {
  const vitest = join('node_modules', '.bin', 'vitest')
  const run = spawnSync(vitest, ['run', ...tests, '--bail', '1', '--reporter', 'dot'], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', TEST_ROUNDS: 'short' },
    maxBuffer: 1 << 28,
  })
  if (run.status === 0) return null
  const output = `${run.stdout}\n${run.stderr}`
  return /FAIL +(?:\|\w+\|)? *(.*)/.exec(output)?.[1] ?? output.trim().slice(-300)
}

const sources = readSources(copy)

interface Sight {
  readonly file: string
  /** The first test that failed; `null`: none did. */
  readonly by: string | null
}

function see(mutant: Mutant, tests: readonly string[]): Sight {
  const { file, text } = mutate(sources, mutant)
  writeFileSync(join(copy, file), text)
  try {
    // Those that look at this part first; if they see nothing, all of `npm test`.
    return { file, by: firstFailure(tests) ?? firstFailure([]) }
  } finally {
    writeFileSync(join(copy, file), sources.get(file) ?? '')
  }
}

let seen = 0
let survived = 0
for (const { name, tests, mutants } of areas) {
  const red = firstFailure(tests)
  if (red !== null) {
    console.error(`${name}: without a mutant its tests fail, so that they show nothing: ${red}`)
    process.exit(1)
  }
  for (const mutant of mutants) {
    const startedAt = performance.now()
    const { file, by } = see(mutant, tests)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
    console.log(`${by === null ? 'SURVIVED' : 'seen'} ${name}: ${mutant.says} (${file}, ${seconds} s)`)
    if (by === null) survived += 1
    else {
      seen += 1
      console.log(`  by ${by}`)
    }
  }
}
console.log(`${seen + survived} mutants: ${seen} seen, ${survived} survived`)
process.exitCode = survived === 0 ? 0 : 1
