import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../config/config.ts'
import { readVariable } from '../config/environment.ts'
import type { SecretPorts } from '../keys/operations/secrets.ts'
import { reasonOf } from '../lib/reason-of.ts'
import { Failure } from '../operations/failure.ts'
import { findRunning } from './find-servers.ts'

/** Their names in the data folder of `npm start`. */
const KEPT = { KEY_PEPPER: 'keyPepper', ADMIN_TOKEN: 'adminToken' } as const

export function secretsOf(env: Environment): SecretPorts['findSecret'] {
  return (name) => {
    const value = readVariable(env, name) || findRunning(env)?.[KEPT[name]] || readDataFolder(env)[KEPT[name]]
    return typeof value === 'string' && value !== '' ? value : null
  }
}

/** `secrets.json` of the data folder; empty: there is none. */
function readDataFolder(env: Environment): Readonly<Record<string, unknown>> {
  try {
    return Object(
      JSON.parse(readFileSync(join(readVariable(env, 'TALLYGATE_DATA_DIR') ?? '', 'secrets.json'), 'utf8')),
    )
  } catch {
    return {}
  }
}

/** What `${NAME}` and `file:/path` stand for in a declaration. One line break at a file's end is an editor's. */
export function referencesOf(env: Environment): (reference: string) => string {
  return (reference) => {
    if (reference.startsWith('file:')) {
      const path = reference.slice('file:'.length)
      try {
        return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
      } catch (error) {
        throw new Failure(`${path} cannot be read: ${reasonOf(error)}`)
      }
    }
    const name = reference.slice(2, -1)
    const value = env[name]
    if (value === undefined || value === '') throw new Failure(`${name} is not set, and the file names it`)
    return value
  }
}
