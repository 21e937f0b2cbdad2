import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const KEEP = pathToFileURL('src/lib/compile-cache.ts').href

let folder: string
let program: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-compiled-'))
  writeFileSync(join(folder, 'rest.ts'), "export const word: string = 'the rest has run'\n")
  program = join(folder, 'program.mjs')
  writeFileSync(
    program,
    `import { keepCompiledModules } from '${KEEP}'
const kept = keepCompiledModules(process.argv[2])
const { word } = await import('./rest.ts')
console.log(word, kept === null ? 'without' : 'with')
`,
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(cache: string): string {
  return execFileSync(process.execPath, [program, cache], { encoding: 'utf8', env: {} }).trim()
}

function filesOf(cache: string): string[] {
  return readdirSync(cache, { recursive: true, encoding: 'utf8' })
    .map((name) => join(cache, name))
    .filter((file) => statSync(file).isFile())
}

test('a program keeps what it compiled, in the folder that it names', () => {
  const cache = join(folder, 'cache')
  expect(run(cache)).toBe('the rest has run with')
  expect(filesOf(cache).length).toBeGreaterThan(0)
  expect(run(cache)).toBe('the rest has run with')
})

test('a program runs all the same where what was kept is damaged', () => {
  const cache = join(folder, 'damaged')
  run(cache)
  for (const file of filesOf(cache)) writeFileSync(file, 'nothing of Node’s')
  expect(run(cache)).toBe('the rest has run with')
})

test('a program runs all the same where the folder cannot be made', () => {
  expect(run(join(program, 'below-a-file'))).toBe('the rest has run without')
})

test('where the environment names the folder, a kept program loads nothing that strips types', () => {
  const stripped = join(folder, 'stripped.ts')
  writeFileSync(
    stripped,
    "const word: string = 'stripper'\n" +
      'const { moduleLoadList } = process as NodeJS.Process & { moduleLoadList: string[] }\n' +
      "console.log(word, moduleLoadList.some((name) => name.includes('amaro')))\n",
  )
  const env = { NODE_COMPILE_CACHE: join(folder, 'named') }
  const start = () => execFileSync(process.execPath, [stripped], { encoding: 'utf8', env }).trim()
  expect(start()).toBe('stripper true')
  expect(start()).toBe('stripper false')
})

/** V8's own functions (`%…`) tell how a function is compiled. */
const CALLS = `import { keepOptimizedCode } from '${KEEP}';
if (process.argv[2] === 'kept') keepOptimizedCode();
class Call { constructor(size) { this.size = size; this.cost = size; } }
function costOf(call) { return call.size + call.cost; }
function serve() { let sum = 0; for (let n = 0; n < 100; n++) sum += costOf(new Call(n)); return sum; }
%PrepareFunctionForOptimization(costOf);
serve();
serve();
%OptimizeFunctionOnNextCall(costOf);
serve();
const before = %ActiveTierIsTurbofan(costOf);
// No call is left, as between two calls.
for (let n = 0; n < 20; n++) globalThis.gc();
console.log(before, %ActiveTierIsTurbofan(costOf));
`

test('code stays compiled when all objects that it is for have been collected; by itself, V8 drops it', () => {
  const calls = join(folder, 'calls.mjs')
  writeFileSync(calls, CALLS)
  const flags = ['--allow-natives-syntax', '--expose-gc']
  const states = (how: string) =>
    execFileSync(process.execPath, [...flags, calls, how], { encoding: 'utf8' }).trim()
  expect(states('dropped')).toBe('true false')
  expect(states('kept')).toBe('true true')
})
