import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What a test imports when it needs more than this process: the run's servers, or a program of its own. */
const NEEDS_MORE =
  /import \{[^}]*\binject\b[^}]*\} from 'vitest'|from 'node:(?:child_process|cluster|https?|net|tls)'/

/** What a file says of itself that takes seconds of CPU, whatever it imports. */
const LONG = /^\/\/ @long\b/

const RELATIVE_IMPORT = /^(?:import|export)[^'"]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

/**
 * The tests of `npm run test:unit`: those that reach no server and start no program, by what they import,
 * directly or through other files of `test/`. A new test belongs to them by itself.
 *
 * @returns paths from the project's root
 */
export function findUnitTests(): readonly string[] {
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
      NEEDS_MORE.test(text) || imported.some((path) => path.startsWith('test/') && needsMore(path))
    known.set(file, answer)
    return answer
  }
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .filter((file) => !needsMore(file) && !LONG.test(readFileSync(file, 'utf8')))
    .sort()
}
