import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { Command } from '../processes/detached-process.ts'
import { installRedis, waysToInstall } from './redis-install.ts'

/** A way to run Redis on this machine. */
export interface RedisProgram {
  /** Named in progress lines: `redis-server 7.0.15`. */
  readonly name: string
  /** The configuration file's text for a server on this loopback port. */
  configure(lines: readonly string[], port: number): string
  command(configFile: string, port: number): Command
}

/** Output and prompts while a program is searched for. */
export interface Dialogue {
  /** One progress line. */
  say(line: string): void
  /**
   * Asks the user yes or no; true without asking in CI or without a terminal, where starting implies consent.
   */
  ask(prompt: string): Promise<boolean>
}

/** BullMQ 6 asks for 6.2 at least; Valkey began at 7.2. */
const OLDEST = [6, 2] as const
const NAMES = ['redis-server', 'valkey-server'] as const
/** Where package managers install servers; the PATH of an ordinary user may lack it. */
const USUAL_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/valkey/bin']

/**
 * Finds Redis: on the PATH, else by the system's package manager, else a Docker engine.
 *
 * @param folders where an installed server is looked for
 * @throws Error saying what to install, when there is no way
 */
export async function findRedisProgram(
  dialogue: Dialogue,
  folders: readonly string[] = serverFolders(),
): Promise<RedisProgram> {
  const installed = findInstalled(folders)
  if (installed !== null) return installed
  for (const way of waysToInstall()) {
    if (!(await dialogue.ask(`Redis is not installed. Install it now with "${way.shown}"?`))) continue
    dialogue.say(`installing Redis: ${way.shown}`)
    const problem = await installRedis(way)
    const program = findInstalled(folders)
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

function serverFolders(): string[] {
  return [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...USUAL_FOLDERS]
}

/** The first server that is new enough. */
function findInstalled(folders: readonly string[]): RedisProgram | null {
  for (const name of NAMES) {
    for (const folder of folders) {
      const file = join(folder, name)
      if (!isExecutable(file)) continue
      const version = versionOf(file)
      if (version !== null) return installedProgram(file, `${name} ${version}`)
    }
  }
  return null
}

function installedProgram(file: string, name: string): RedisProgram {
  return {
    name,
    configure: (lines, port) =>
      [...lines, 'bind 127.0.0.1', `port ${port}`, 'protected-mode yes', 'dir .', ''].join('\n'),
    command: (configFile) => ({ file, args: [configFile] }),
  }
}

/** The version, or null where it is too old or does not run. */
function versionOf(file: string): string | null {
  const { stdout, status } = spawnSync(file, ['--version'], { encoding: 'utf8' })
  const [, version, major, minor] = (status === 0 && /v=((\d+)\.(\d+)[\d.]*)/.exec(stdout)) || []
  if (version === undefined) return null
  const isNewEnough = Number(major) > OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1])
  return isNewEnough ? version : null
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

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
