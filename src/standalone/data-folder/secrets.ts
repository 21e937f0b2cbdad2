import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { writeFileAtomically } from './data-folder.ts'

/** The secrets that `npm start` creates once and keeps, so that the next start finds its data and the user's key. */
export interface Secrets {
  readonly postgresPassword: string
  readonly redisPassword: string
  readonly keyPepper: string
  readonly adminToken: string
  /** The text of the demo client's key; null until it exists. */
  readonly demoKey: string | null
}

/** Secrets that the environment has. */
export type GivenSecrets = Readonly<Record<'keyPepper' | 'adminToken', string | null>>

/**
 * Reads the file, or creates it at the first start. What is given then is kept, so that a restored folder has the pepper of
 * its keys. An unreadable file is never replaced: with another pepper no key would be valid.
 * @throws {Error} When the file exists but is invalid.
 */
export function loadSecrets(file: string, given: GivenSecrets): Secrets {
  if (!existsSync(file)) {
    const made = {
      postgresPassword: randomSecret(),
      redisPassword: randomSecret(),
      keyPepper: given.keyPepper ?? randomSecret(),
      adminToken: given.adminToken ?? randomSecret(),
      demoKey: null,
    }
    saveSecrets(file, made)
    return made
  }
  const text = readFileSync(file, 'utf8')
  const read = parseSecrets(text)
  if (read === null)
    throw new Error(`${file} is damaged: restore it, or move the whole folder away to start afresh`)
  return read
}

export function saveSecrets(file: string, secrets: Secrets): void {
  writeFileAtomically(file, `${JSON.stringify(secrets, null, 2)}\n`)
}

function parseSecrets(text: string): Secrets | null {
  let read: Record<string, unknown>
  try {
    read = Object(JSON.parse(text))
  } catch {
    return null
  }
  const { postgresPassword, redisPassword, keyPepper, adminToken, demoKey } = read
  if (typeof postgresPassword !== 'string' || typeof redisPassword !== 'string') return null
  if (typeof keyPepper !== 'string' || typeof adminToken !== 'string') return null
  return {
    postgresPassword,
    redisPassword,
    keyPepper,
    adminToken,
    demoKey: typeof demoKey === 'string' ? demoKey : null,
  }
}

/** 160 bits, in characters that need no quoting in a URL, a header, SQL or redis.conf. */
function randomSecret(): string {
  return randomBytes(20).toString('hex')
}
