import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
)

/** What each file imports: paths from the project's root, or package names. */
const imports = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^'"]*?from '([^']+)'|^import '([^']+)'/gm)].map(
    (match) => {
      const what = match[1] ?? match[2] ?? ''
      return { file, what: what.startsWith('.') ? relative('.', join(dirname(file), what)) : what }
    },
  ),
)

/** What the files under `folder` may import of ours, beside themselves. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/domain/': [],
  'src/lib/': [],
  'src/http/': ['src/domain/'],
  'src/call/': ['src/domain/', 'src/pricing/'],
  'src/providers/': ['src/domain/', 'src/call/', 'src/pricing/'],
  'src/ledger/': ['src/domain/', 'src/call/', 'src/lib/'],
  'src/store/': ['src/domain/', 'src/lib/'],
  'src/keys/': ['src/domain/', 'src/call/', 'src/lib/', 'src/store/'],
}

for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
  test(`${folder} imports of ours only ${allowed.join(', ') || 'itself'}`, () => {
    const wrong = imports.filter(
      ({ file, what }) =>
        file.startsWith(folder) &&
        /^(src|workers)\//.test(what) &&
        ![folder, ...allowed].some((prefix) => what.startsWith(prefix)),
    )
    expect(wrong).toEqual([])
  })
}

test('only store, ledger and what joins them speaks to Postgres and Redis, only workers to BullMQ', () => {
  const homes: Readonly<Record<string, RegExp>> = {
    pg: /^src\/store\//,
    ioredis: /^src\/(store|ledger)\//,
    bullmq: /^workers\//,
    fastify: /^src\/(gateway|http|operator|objects)\//,
  }
  const wrong = imports.filter(({ file, what }) => homes[what]?.test(file) === false)
  expect(wrong).toEqual([])
})

test('the domain knows no framework and does no I/O', () => {
  const wrong = imports.filter(
    ({ file, what }) =>
      file.startsWith('src/domain/') &&
      !what.startsWith('src/') &&
      !['node:crypto', 'node:zlib', 'zod'].includes(what),
  )
  expect(wrong).toEqual([])
})
