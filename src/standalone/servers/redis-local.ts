import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { bareEnvironment, type Command } from '../processes/detached-process.ts'
import { librariesIn } from './redis-unpack.ts'

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
export function findInstalled(folders: readonly string[]): RedisProgram | null {
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
export function findUnpacked(folder: string): RedisProgram | null {
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
