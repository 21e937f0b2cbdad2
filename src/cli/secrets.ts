import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../config/config.ts'
import { readVariable } from '../config/environment.ts'
import type { SecretPorts } from '../keys/operations/secrets.ts'

/** Their names in the data folder of `npm start`. */
const KEPT = { KEY_PEPPER: 'keyPepper', ADMIN_TOKEN: 'adminToken' } as const

export function secretsOf(env: Environment): SecretPorts['findSecret'] {
  return (name) => {
    const value = readVariable(env, name) || readDataFolder(env)[KEPT[name]]
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
