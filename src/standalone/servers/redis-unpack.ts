import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { putInPlace, SERVERS_FOLDER } from './servers-folder.ts'

/** Nothing of it lies in the system. */
export const UNPACKED_REDIS = join(SERVERS_FOLDER, 'redis')

/** Below the 10 minutes after which continuous integration commonly ends a silent step. */
const STEP_TIMEOUT_MS = 180_000

// biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query fills these in
const INSTALLED_FORMAT = '${Package} ${db:Status-Status}\\n'

/** The output of a command, or why it failed. */
type Outcome = { readonly said: string } | { readonly problem: string }

/** Debian, Ubuntu, and what is built on them. */
export function canUnpack(): boolean {
  return ['apt-get', 'dpkg-deb'].every(
    (file) => spawnSync(file, ['--version'], { stdio: 'ignore', timeout: 10_000 }).status === 0,
  )
}

/**
 * Downloads the Redis of the system's own packages and unpacks it into a folder, with the libraries that this system
 * lacks. It needs no rights, installs nothing, and starts no daemon. apt checks signatures and architecture as ever.
 *
 * @param folder what is in it does not run; it appears in one step, so that a killed run leaves none that is half there
 * @returns what went wrong, or null
 */
export async function unpackRedis(folder: string): Promise<string | null> {
  let work: string
  try {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(dirname(folder), { recursive: true })
    work = mkdtempSync(join(dirname(folder), 'redis-'))
  } catch (error) {
    return String(error)
  }
  try {
    const packages = join(work, 'packages')
    const tree = join(work, 'tree')
    mkdirSync(packages)
    const problem = await downloadPackages(work, packages)
    if (problem !== null) return problem
    for (const name of readdirSync(packages)) {
      const outcome = await run('dpkg-deb', ['-x', join(packages, name), tree])
      if ('problem' in outcome) return outcome.problem
    }
    putInPlace(tree, folder)
    return null
  } catch (error) {
    return String(error)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Folders of shared libraries below the unpacked one: the system's loader does not look there by itself. */
export function librariesIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return [
    ...new Set(files.filter((name) => /\.so(\.|$)/.test(name)).map((name) => join(folder, dirname(name)))),
  ]
}

/** With the lists of the system; where these are missing or too old, with lists fetched for this once. */
async function downloadPackages(work: string, into: string): Promise<string | null> {
  const options = aptOptions(work)
  if ((await download(options, into)) === null) return null
  const lists = join(work, 'lists')
  mkdirSync(join(lists, 'partial'), { recursive: true })
  const fresh = [...options, '-o', `Dir::State::lists=${lists}`]
  // One unreachable source of several fails the update; where it was the one with Redis, that is what went wrong.
  const updated = await run('apt-get', [...fresh, '-o', 'APT::Update::Error-Mode=any', 'update'])
  for (const name of readdirSync(into)) rmSync(join(into, name)) // of older versions
  const problem = await download(fresh, into)
  return problem !== null && 'problem' in updated ? updated.problem : problem
}

async function download(options: readonly string[], into: string): Promise<string | null> {
  // Planned as if nothing were installed: what else is broken, held or half upgraded here does not matter then.
  const asIfEmpty = [...options, '-o', 'Dir::State::status=/dev/null']
  const plan = await run('apt-get', [
    ...asIfEmpty,
    ...['install', '--print-uris', '--no-install-recommends', 'redis-server'],
  ])
  if ('problem' in plan) return plan.problem
  const installed = await run('dpkg-query', ['--show', `--showformat=${INSTALLED_FORMAT}`])
  if ('problem' in installed) return installed.problem
  const names = ['redis-server', 'redis-tools', ...librariesOf(plan.said, installed.said)]
  const downloaded = await run('apt-get', [...options, 'download', ...names], into)
  return 'problem' in downloaded ? downloaded.problem : null
}

/**
 * Libraries of the plan that the system lacks. Its lines are `'https://…' liblzf1_3.6-3_amd64.deb 10220 SHA256:…`.
 * Never the C library: a program with two of them crashes.
 */
function librariesOf(plan: string, installed: string): string[] {
  const present = new Set([...installed.matchAll(/^(\S+) installed$/gm)].map(([, name = '']) => name))
  return [...plan.matchAll(/^'[^']*' ([^_\s]+)_\S+\.deb /gm)]
    .map(([, name = '']) => name)
    .filter((name) => name.startsWith('lib') && !/^libc(6|-bin)$/.test(name) && !present.has(name))
}

function aptOptions(work: string): string[] {
  return [
    '-qq',
    ...['-o', `Dir::Cache=${work}`, '-o', 'Acquire::http::Timeout=20', '-o', 'Acquire::https::Timeout=20'],
    // apt's own user cannot reach a project in root's home, and does not exist in a container without many users.
    ...(process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : []),
  ]
}

async function run(file: string, args: readonly string[], cwd?: string): Promise<Outcome> {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: STEP_TIMEOUT_MS,
  })
  let [said, complained] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    complained = (complained + chunk.toString('utf8')).slice(-4_000)
  })
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve({ problem: error.message }))
    child.once('close', (code, signal) => {
      if (code === 0) return resolve({ said })
      const lines = complained.trim().split('\n')
      const why = lines.find((line) => line.startsWith('E: ')) ?? lines.at(-1) // what follows the first is its consequence
      resolve({ problem: why || `${file} ended with ${signal ?? `exit code ${code}`}` })
    })
  })
}
