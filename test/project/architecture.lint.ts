import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  BENCH_FILES,
  BENCH_IMPORTS,
  findCircles,
  IMPORTS,
  LIBRARIES,
  LIBRARY_FILES,
  linesOf,
  roomOf,
  SOURCES,
} from './imports.ts'

/** From the lowest to the highest. */
const ROOMS = [...readFileSync('src/README.md', 'utf8').matchAll(/^\d+\. \[`([\w-]+)`\]/gm)].map(
  ([, name = '']) => name,
)

/** One folder of files for each of these rooms, and its README. */
const folderOf = (room: string) => (room === 'workers' ? room : join('src', room))
const readmeOf = (room: string) => readFileSync(join(folderOf(room), 'README.md'), 'utf8')

/** What a room's README allows it to import. */
function allowedTo(room: string): string[] {
  const [, list = ''] = /^May import: ([^.]*)\./m.exec(readmeOf(room)) ?? []
  return [...list.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name)
}

const OURS = [...SOURCES, ...LIBRARY_FILES]
const FOLDERS = [...new Set(OURS.map((file) => dirname(file)))].sort()

test('src/README.md lists every room, and not more than 26', () => {
  expect([...ROOMS].sort()).toEqual([...new Set(SOURCES.map(roomOf))].sort())
  expect(ROOMS.length).toBeLessThanOrEqual(26)
})

describe.each(ROOMS)('the room %s', (room) => {
  const others = new Set(
    IMPORTS.filter(
      ({ file, what }) => roomOf(file) === room && SOURCES.includes(what) && roomOf(what) !== room,
    ).map(({ what }) => roomOf(what)),
  )

  test(`imports exactly what the README of ${room} says it may`, () => {
    expect([...others].sort()).toEqual(allowedTo(room).sort())
  })

  test(`may import only rooms below ${room}`, () => {
    const below = ROOMS.slice(0, ROOMS.indexOf(room))
    expect(allowedTo(room).filter((other) => !below.includes(other))).toEqual([])
  })

  test(`says in the README of ${room} what each folder in it holds`, () => {
    const inside = FOLDERS.filter((folder) => folder.startsWith(`${folderOf(room)}/`)).map((folder) =>
      folder.slice(folderOf(room).length + 1),
    )
    const reported = [...readmeOf(room).matchAll(/^- `([\w/-]+)\/`: /gm)].map(([, name = '']) => name)
    expect(inside.filter((folder) => !reported.includes(folder))).toEqual([])
    expect(reported.filter((folder) => !existsSync(join(folderOf(room), folder)))).toEqual([])
  })
})

test.each(
  LIBRARIES,
)('the library %s imports Node’s modules, the packages that it asks for, and itself', (name) => {
  const { dependencies = {} } = JSON.parse(readFileSync(join('packages', name, 'package.json'), 'utf8'))
  const others = IMPORTS.filter(({ file }) => file.startsWith(`packages/${name}/`))
    .map(({ what }) => what)
    .filter((what) => !what.startsWith('node:') && !what.startsWith(`packages/${name}/`))
  expect([...new Set(others)].sort()).toEqual(Object.keys(dependencies).sort())
})

/** What starts programs by their files' names. */
const STARTERS = [
  ...['package.json', 'Dockerfile', 'docker-compose.yml'],
  ...SOURCES,
  ...readdirSync('scripts', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?[jt]s$/.test(name))
    .map((name) => join('scripts', name)),
]

// A stage, a provider or a condition that no list has compiles, and does nothing.
test('every file is imported, or named by what starts it', () => {
  const imported = new Set(IMPORTS.map(({ what }) => what))
  const alone = OURS.filter((file) => !imported.has(file))
  const starters = STARTERS.map((file) => [file, readFileSync(file, 'utf8')] as const)
  const isStarted = (file: string) =>
    file.endsWith('/main.ts') ||
    starters.some(([other, text]) => other !== file && text.includes(`/${basename(file)}`))
  expect(alone.filter((file) => !isStarted(file))).toEqual([])
})

test.each([
  ['src, workers and packages', IMPORTS],
  ['bench', BENCH_IMPORTS],
])('no files of %s import each other in a circle', (_, imports) => {
  expect(findCircles(imports)).toEqual([])
})

/** Who starts a server, or a process of ours, knows how it ends: the stand, which all benches share. */
test('only the stand of bench starts servers, gateways and workers', () => {
  const starters =
    /servers\/servers\.ts$|standalone\/(?:servers\/|stand\/(?:stand|private-servers)\.ts$)|node-process\.ts$|store\/connection\/migrate\.ts$/
  const importers = BENCH_IMPORTS.filter(({ file, what }) => {
    const isOfStand = file.startsWith('bench/stand/')
    return !isOfStand && starters.test(what) && !isTypeOnly(file, what)
  })
  expect(importers.map(({ file, what }) => `${file} ${what}`)).toEqual([
    // The migrations of the checkout that is measured, by its own command line.
    'bench/rollup/case.ts src/standalone/processes/node-process.ts',
  ])
})

function isTypeOnly(file: string, what: string): boolean {
  const name = what.split('/').at(-1) ?? ''
  return new RegExp(`import type [^;]*?/${name}'`).test(readFileSync(file, 'utf8'))
}

test('a circle is found where there is one', () => {
  const files = ['a', 'b', 'c', 'a', 'd']
  const imports = files.slice(1).map((what, index) => ({ file: files[index] ?? '', what }))
  expect(findCircles(imports).map((circle) => circle.sort())).toEqual([['a', 'b', 'c']])
})

test.each(FOLDERS)('%s holds 2 to 20 files', (folder) => {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'README.md',
  )
  expect(files.length).toBeGreaterThanOrEqual(2)
  expect(files.length).toBeLessThanOrEqual(20)
})

// A smaller limit would be a target: files would be parted because a number is full, not because an idea is.
test('no file is over 400 lines', () => {
  expect([...OURS, ...BENCH_FILES].filter((file) => linesOf(file) > 400)).toEqual([])
})

/** The folders that may import a package; others use what these offer. */
const HOMES: Readonly<Record<string, RegExp>> = {
  pg: /^src\/store\/connection\//,
  'pg-copy-streams': /^src\/store\/connection\//,
  'node-pg-migrate': /^src\/store\/connection\//,
  ioredis: /^src\/store\/connection\//,
  bullmq: /^workers\//,
  '@platformatic/kafka': /^workers\/kafka\//,
  '@aws-sdk/credential-provider-node': /^src\/gateway\/credentials\//,
  fastify: /^src\/(gateway|http|operator|objects)\//,
  '@fastify/http-proxy': /^src\/gateway\/proxy\//,
  commander: /^src\/cli\//,
  jose: /^src\/gateway\/identity\//,
  'openid-client': /^src\/operator\/sign-in\//,
  pino: /^src\/lib\//,
  'prom-client': /^src\/metrics\//,
  '@opentelemetry/sdk-trace': /^src\/gateway\/tracing\//,
  '@opentelemetry/sdk-metrics': /^src\/metrics\/otlp\//,
}

test.each(Object.entries(HOMES))('%s is imported only by its home', (name, home) => {
  const importers = IMPORTS.filter(({ what }) => what === name).map(({ file }) => file)
  expect(importers.length).toBeGreaterThan(0)
  expect(importers.filter((file) => !home.test(file))).toEqual([])
})

test('the domain imports no framework and does no I/O', () => {
  const wrong = IMPORTS.filter(
    ({ file, what }) =>
      roomOf(file) === 'domain' &&
      !what.startsWith('src/') &&
      !['node:crypto', 'node:zlib', 'zod'].includes(what),
  )
  expect(wrong).toEqual([])
})

test('every exported name is declared once', () => {
  const places = new Map<string, string[]>()
  for (const file of OURS) {
    const text = readFileSync(file, 'utf8')
    const declared = text.matchAll(
      /^export (?:abstract )?(?:interface|type|class|(?:async )?function\*?|const) (\w+)/gm,
    )
    for (const [, name = ''] of declared) places.set(name, [...(places.get(name) ?? []), file])
  }
  expect([...places].filter(([, files]) => files.length > 1)).toEqual([])
})

test.each(['src/store/migrations', 'docs/decisions'])('no two files of %s have one number', (folder) => {
  const numbers = readdirSync(folder).map((file) => file.slice(0, 4))
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
})
