import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { COMPILED_FOLDER } from '../../src/lib/compile-cache.ts'
import { findMemoryFolder } from './temporary-folder.ts'

/** What a test imports when it needs more than this process: the run's servers, or a program of its own. */
const NEEDS_MORE =
  /import \{[^}]*\binject\b[^}]*\} from 'vitest'|from '(?:node:(?:child_process|cluster|https?|net|tls)|[./]*\/src\/standalone\/stand\/.*)'/

/** The first line of a file that burns seconds of CPU, with the reason behind it: too long for `npm run test:unit`. */
const SECONDS = /^\/\/ @seconds\b/

/** The first line of a file whose work is minutes, with the reason behind it. */
const LONG = /^\/\/ @long\b/

/** What such a file measures is right only while no other file runs. */
const MEASURES = /^\/\/ @long: measures\b/

/** The first line of a file that needs a process of its own; a mocked module needs one whatever the file says. */
const ALONE = /^\/\/ @alone\b|^vi\.mock\(/m

/** A file that asks how much it should do: it does more of it in `npm run test:long`. */
const SCALED = /from '[^']*\/support\/rounds\.ts'/

const RELATIVE_IMPORT = /^(?:import|export)[^'"]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

/** A test file and the suites that it belongs to, by what stands in it. */
export interface TestFile {
  /** From the project's root. */
  readonly path: string
  /** It runs in `npm run test:unit`. */
  readonly isUnit: boolean
  /** It runs in `npm run test:long` alone. */
  readonly isLong: boolean
  /** It measures times, so it runs by itself. */
  readonly isMeasured: boolean
  /** It runs in `npm test`, and in `npm run test:long` with more rounds. */
  readonly isScaled: boolean
  readonly isAlone: boolean
}

/** Every `*.test.ts`. A new file belongs to its suites by itself. */
export function findTestFiles(): readonly TestFile[] {
  const known = new Map<string, boolean>()
  const needsMore = (file: string): boolean => {
    const before = known.get(file)
    if (before !== undefined) return before
    known.set(file, false) // of files that import each other, one is still being looked at
    const text = readFileSync(file, 'utf8')
    const imported = [...text.matchAll(RELATIVE_IMPORT)].map((match) =>
      join(dirname(file), match[1] ?? match[2] ?? ''),
    )
    const answer =
      NEEDS_MORE.test(text) || imported.some((path) => /^(?:test|packages)\//.test(path) && needsMore(path))
    known.set(file, answer)
    return answer
  }
  return ['test', ...readdirSync('packages').map((name) => join('packages', name, 'test'))]
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => path.endsWith('.test.ts'))
    .sort()
    .map((path) => {
      const text = readFileSync(path, 'utf8')
      return {
        path,
        isUnit: !needsMore(path) && !SECONDS.test(text) && !LONG.test(text),
        isLong: LONG.test(text),
        isMeasured: MEASURES.test(text),
        isScaled: SCALED.test(text),
        isAlone: ALONE.test(text),
      }
    })
}

/** Paths of the files that `belongs` accepts. */
export function pathsOf(files: readonly TestFile[], belongs: (file: TestFile) => boolean): string[] {
  return files.filter(belongs).map(({ path }) => path)
}

/**
 * Where processes of tests keep what Node compiled. Not where the product does: V8 takes nothing that was kept under other
 * flags, so each would compile again what the other one has kept. Each run adds its test files, as Vitest names them by
 * the time: once there are too many, all of it goes.
 */
function folderOfCompiledTests(): string {
  const folder = join(dirname(COMPILED_FOLDER), 'compiled-tests')
  try {
    const { length } = readdirSync(folder, { recursive: true })
    if (length > 20_000) rmSync(folder, { recursive: true })
  } catch {
    // It is not there yet, or another run empties it.
  }
  return folder
}

// The processes of the tests, and the servers that they start, have this one's environment.
const memoryFolder = findMemoryFolder()
if (memoryFolder !== null) process.env.TMPDIR ??= memoryFolder
// A process that loads all of the product takes 1.1 s of CPU for it in place of 2, from the second run on.
process.env.NODE_COMPILE_CACHE ??= folderOfCompiledTests()

const setupFiles: string[] = ['test/support/set-up-file.ts']

/** What all suites of `npm test` share. */
export const DEFAULTS = {
  // `patience.ts` stretches all three by how busy the machine is.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000, interval: 50 } },
  setupFiles,
  pool: 'forks',
  maxWorkers: availableParallelism(),
} as const

/**
 * For files that share a process and what it has loaded, which halves their cost. None of them mocks a module, so Node reads
 * their TypeScript by itself. Vite would rewrite each module first.
 */
export const SHARED = {
  isolate: false,
  experimental: { viteModuleRunner: false, nodeLoader: false },
} as const
