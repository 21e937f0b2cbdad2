import { spawnSync } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { BREW_COMMAND, hasBrew, installWithBrew } from './redis-install.ts'
import { findInstalled, findUnpacked, type RedisProgram } from './redis-local.ts'
import { canUnpack, UNPACKED_REDIS, unpackRedis } from './redis-unpack.ts'

/** Output and prompts while a program is searched for. */
export interface Dialogue {
  /** One progress line. */
  say(line: string): void
  /**
   * Asks the user yes or no; true without asking in CI or without a terminal, where starting implies consent.
   */
  ask(prompt: string): Promise<boolean>
}

/** Where package managers install servers; the PATH of an ordinary user may lack it. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/valkey/bin']

/** Where Redis is looked for on this machine. */
export interface RedisPlaces {
  /** Folders of programs. */
  readonly folders: readonly string[]
  /** The folder that it is unpacked into. */
  readonly unpacked: string
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
    dialogue.say('unpacking Redis beside the project, from the packages of this system')
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
