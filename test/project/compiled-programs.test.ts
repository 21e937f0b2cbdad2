import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Says as the program ends whether it loaded what strips types: Node does for any file that it has not kept. */
const SAYS_STRIPPED =
  "data:text/javascript,process.on('exit',()=>console.log(process.moduleLoadList.some((name)=>name.includes('amaro'))))"

let folder: string
/** One run of each program, after all of them ran when the image was built. */
const runs = new Map<string, Run>()

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-compiled-'))
  run('src/standalone/container/compile-programs.ts')
  for (const program of kept) runs.set(program, run(program))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What Node says of the compiled code that it has, a line for each file, and what was printed. */
interface Run {
  readonly compiled: readonly string[]
  readonly printed: string
}

/** Node says a megabyte. `spawnSync` takes less of a pipe before it ends the program, and Node skips lines where it is full. */
function run(program: string): Run {
  const log = join(folder, 'said')
  const said = openSync(log, 'w')
  try {
    const { status, signal, error, stdout } = spawnSync(
      process.execPath,
      ['--import', SAYS_STRIPPED, program],
      {
        env: {
          PATH: process.env.PATH ?? '',
          NODE_COMPILE_CACHE: join(folder, 'compiled'),
          NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
        },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', said],
      },
    )
    if (status === null) throw new Error(`${program} was ended: ${error ?? signal}`)
    return { compiled: readFileSync(log, 'utf8').split('\n'), printed: stdout }
  } finally {
    closeSync(said)
  }
}

/** Every program of ours that a container runs, but for the demo's, which does not end. */
const programs = ['Dockerfile', 'docker-compose.yml', 'deploy/tallygate.sh'].flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/\b(?:src|workers)\/[\w/-]+\.ts\b/g)].map(([program]) => program),
)
const kept = [...new Set(programs)].filter((program) => !/demo-upstream|compile-programs/.test(program))

test('the image keeps what Node compiled, in a folder of the user that runs it', () => {
  const stages = readFileSync('Dockerfile', 'utf8').split(/^FROM /m)
  expect(stages.find((stage) => stage.includes(' AS runtime'))).toMatch(
    /chown .*compiled[\s\S]*NODE_COMPILE_CACHE=\/app\/compiled[\s\S]*USER node/,
  )
  for (const name of ['demo', 'production']) {
    const stage = stages.find((text) => new RegExp(` AS ${name}$`, 'm').test(text))
    expect(stage).toMatch(
      /node_modules \.\/node_modules\nRUN node src\/standalone\/container\/compile-programs\.ts$/m,
    )
  }
})

test.each(kept)('%s is kept whole: it starts without stripping types', (program) => {
  expect(kept.length).toBeGreaterThanOrEqual(5)
  expect(runs.get(program)?.printed.trim().split('\n').at(-1)).toBe('false')
})

// Code that was compiled under other flags of V8 is not taken, and programs share most of their files.
test.each(kept)('%s takes all that was kept, whichever program came before', (program) => {
  const compiled = runs.get(program)?.compiled ?? []
  if (!program.endsWith('check-gateway.ts'))
    expect(compiled.filter((line) => line.includes('was accepted'))).not.toEqual([])
  expect(compiled.filter((line) => line.includes('was rejected'))).toEqual([])
})
