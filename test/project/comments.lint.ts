import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Folders that were gone through. The others follow, each with a line here. */
const FOLDERS = [
  'packages/http-client/src',
  'packages/prices/src',
  'src/call',
  'src/http',
  'src/keys',
  'src/ledger',
  'src/lib',
  'src/metrics',
  'src/objects',
  'src/providers',
  'src/rollup',
  'src/standalone',
  'src/store',
]

/** A clause in place of a noun: a reader has to parse it before knowing what the comment is about. */
const ELLIPTIC = /^(?:What|Whether|Of|Where)\b/
/** Some sentences may begin so: "Where there are several servers, …". */
const MOST_IN_A_HUNDRED = 2

function commentsIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const found = text.matchAll(/\/\*\*\s*(?:\* )?([^*][\s\S]*?)\*\/|^\s*\/\/ (.*)$/gm)
    return [...found].map(([, block, line]) => (block ?? line ?? '').trim())
  })
}

test.each(FOLDERS)('comments in %s begin with their subject', (folder) => {
  const comments = commentsIn(folder)
  const elliptic = comments.filter((comment) => ELLIPTIC.test(comment))
  expect(comments.length).toBeGreaterThan(10)
  expect(elliptic.length, elliptic.join('\n')).toBeLessThanOrEqual(
    Math.ceil((comments.length * MOST_IN_A_HUNDRED) / 100),
  )
})
