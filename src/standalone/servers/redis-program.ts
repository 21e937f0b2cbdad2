import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { bareEnvironment, type Command } from '../processes/detached-process.ts'
import { canUnpack, librariesIn, UNPACKED_REDIS, unpackRedis } from './redis-unpack.ts'

/** Output and prompts while a program is searched for. */
export interface Dialogue {
  /** One progress line. */
  say(line: string): void
  /**
   * Asks the user yes or no; true without asking in CI or without a terminal, where starting implies consent.
   */
  ask(prompt: string): Promise<boolean>
}

/** Folders into which package managers install servers; the PATH of an ordinary user may lack it. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/valkey/bin']

/** The places on this machine where Redis is searched for. */
export interface RedisPlaces {
  /** Folders of programs. */
  readonly folders: readonly string[]
  /** The folder that it is unpacked into. */
  readonly unpacked: string
}

/** Shown before it is done: unlike unpacking, it changes the machine. */
const BREW_COMMAND = 'brew install redis'

function hasBrew(): boolean {
  return spawnSync('brew', ['--version'], { stdio: 'ignore', timeout: 10_000 }).status === 0
}

/** Runs it to its end. Returns its last line when it failed, else null. */
async function installWithBrew(): Promise<string | null> {
  const child = spawn('brew', ['install', 'redis'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const hear = (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-4_000)
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return code === 0 ? null : (said.trimEnd().split('\n').at(-1) ?? `exit code ${code}`)
}

/** A way to run Redis on this machine. */
export interface RedisProgram {
  /** Named in progress lines: `redis-server 7.0.15`. */
  readonly name: string
  /** The configuration file's text for a server on this loopback port. */
  configure(lines: readonly string[], port: number): string
  command(configFile: string, port: number): Command
}

/** BullMQ 6 asks for 6.2 at least; Valkey began at 7.2. */
const OLDEST = [6, 2] as const
const NAMES = ['redis-server', 'valkey-server'] as const
/** The first server that is new enough. */
function findInstalled(folders: readonly string[]): RedisProgram | null {
  for (const name of NAMES) {
    for (const folder of folders) {
      const file = join(folder, name)
      if (!isExecutable(file)) continue
      const version = versionOf(file)
      if (version !== null) return localProgram(file, `${name} ${version}`)
    }
  }
  return null
}

/** The unpacked server, if it runs here: `node_modules` may have come from another system. */
function findUnpacked(folder: string): RedisProgram | null {
  const file = join(folder, 'usr/bin/redis-server')
  if (!isExecutable(file)) return null
  const env = { ...bareEnvironment(), LD_LIBRARY_PATH: librariesIn(folder).join(delimiter) }
  const version = versionOf(file, env)
  return version === null ? null : localProgram(file, `redis-server ${version}`, env)
}

function localProgram(file: string, name: string, env?: NodeJS.ProcessEnv): RedisProgram {
  return {
    name,
    configure: (lines, port) =>
      [...lines, 'bind 127.0.0.1', `port ${port}`, 'protected-mode yes', 'dir .', ''].join('\n'),
    command: (configFile) => ({ file, args: [configFile], ...(env === undefined ? {} : { env }) }),
  }
}

/** The version, or null where it is too old or does not run. */
function versionOf(file: string, env: NodeJS.ProcessEnv = process.env): string | null {
  const { stdout, status } = spawnSync(file, ['--version'], { encoding: 'utf8', env })
  const [, version, major, minor] = (status === 0 && /v=((\d+)\.(\d+)[\d.]*)/.exec(stdout)) || []
  if (version === undefined) return null
  const isNewEnough = Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1])
  return isNewEnough ? version : null
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Finds Redis: on the PATH, else unpacked beside the project, else by Homebrew, else a Docker engine.
 *
 * @throws Error saying what to install, when there is no way
 */
export async function findRedisProgram(
  dialogue: Dialogue,
  places: RedisPlaces = usualPlaces(),
): Promise<RedisProgram> {
  const present = findInstalled(places.folders) ?? findUnpacked(places.unpacked)
  if (present !== null) return present
  if (canUnpack()) {
    dialogue.say(`unpacking Redis into ${places.unpacked}, from the packages of this system`)
    const unpacked = await unpack(places.unpacked)
    if (typeof unpacked !== 'string') return unpacked
    dialogue.say(`that did not work: ${unpacked}`)
  }
  if (hasBrew() && (await dialogue.ask(`Redis is not installed. Install it now with "${BREW_COMMAND}"?`))) {
    dialogue.say(`installing Redis: ${BREW_COMMAND}`)
    const problem = await installWithBrew()
    const program = findInstalled(places.folders)
    if (program !== null) return program
    dialogue.say(`that did not work: ${problem ?? 'no redis-server afterwards'}`)
  }
  const docker = findDocker()
  if (docker !== null) return docker
  throw new Error(
    [
      'tallygate needs Redis 6.2 or newer, and found no redis-server or valkey-server on the PATH.',
      'Install one of them:',
      '  Debian, Ubuntu   sudo apt-get install redis-server',
      '  Fedora           sudo dnf install valkey',
      '  Alpine           sudo apk add redis',
      '  macOS            brew install redis',
      'or start Docker, or set REDIS_URL to a Redis that runs.',
    ].join('\n'),
  )
}

/**
 * Unpacks Redis where this is the way that `findRedisProgram` would take, so that a start needs no network later.
 *
 * @returns one line on what was done, or null where nothing was
 */
export async function unpackRedisAhead(places: RedisPlaces = usualPlaces()): Promise<string | null> {
  if ((findInstalled(places.folders) ?? findUnpacked(places.unpacked)) !== null || !canUnpack()) return null
  const unpacked = await unpack(places.unpacked)
  return typeof unpacked === 'string'
    ? `Redis could not be unpacked beside the project, npm start will try again: ${unpacked}`
    : `${unpacked.name} is unpacked beside the project, in ${places.unpacked}`
}

function usualPlaces(): RedisPlaces {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS]
  return { folders, unpacked: UNPACKED_REDIS }
}

/** The program, or why there is none. */
async function unpack(folder: string): Promise<RedisProgram | string> {
  const problem = await unpackRedis(folder)
  if (problem !== null) return problem
  return findUnpacked(folder) ?? 'the Redis of these packages is older than 6.2, or does not run here'
}

/**
 * A killed `docker run` leaves its container running. One left on this folder is removed first, since two
 * servers must not write the same append-only file.
 */
const DOCKER_SCRIPT = `
for left in $(docker ps --all --quiet --filter "label=tallygate.folder=$1"); do docker rm --force "$left"; done
folder=$1; shift
exec docker run --rm --label "tallygate.folder=$folder" --volume "$folder:/data" "$@"
`

/** Redis in a container, its files in the same folder; the container ends with the `docker run` in front of it. */
function findDocker(): RedisProgram | null {
  const answered = spawnSync('docker', ['info', '--format', '{{.ServerVersion}}'], {
    encoding: 'utf8',
    timeout: 10_000,
  })
  if (answered.status !== 0 || answered.stdout.trim() === '') return null
  const user = process.getuid === undefined ? [] : [`--user=${process.getuid()}:${process.getgid?.()}`]
  return {
    name: 'redis:7 in Docker',
    configure: (lines) => [...lines, 'bind 0.0.0.0', 'port 6379', 'dir /data', ''].join('\n'),
    command: (configFile, port) => ({
      file: '/bin/sh',
      args: [
        ...['-c', DOCKER_SCRIPT, 'sh', dirname(configFile)],
        ...[`--publish=127.0.0.1:${port}:6379`, ...user],
        ...['redis:7', 'redis-server', '/data/redis.conf'],
      ],
      env: process.env, // where the engine is
    }),
  }
}
