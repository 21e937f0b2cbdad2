import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { messageOf } from './config-error.ts'
import { type Environment, readVariable } from './environment.ts'

/** The TLS certificate and key: PEM files that exist and match. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** TLS_CERT_FILE and TLS_KEY_FILE; `null`: plain HTTP, or a problem was added. */
export function readTlsFiles(env: Environment, problems: string[]): TlsFiles | null {
  const certFile = readVariable(env, 'TLS_CERT_FILE')
  const keyFile = readVariable(env, 'TLS_KEY_FILE')
  if (certFile === null && keyFile === null) return null
  const cert = readPem('TLS_CERT_FILE', certFile, problems)
  const key = readPem('TLS_KEY_FILE', keyFile, problems)
  if (certFile === null || keyFile === null || cert === null || key === null) return null
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    problems.push(`TLS_CERT_FILE: is not a PEM certificate that matches TLS_KEY_FILE: ${messageOf(error)}`)
    return null
  }
  return { certFile, keyFile }
}

function readPem(
  name: 'TLS_CERT_FILE' | 'TLS_KEY_FILE',
  file: string | null,
  problems: string[],
): Buffer | null {
  if (file === null) {
    problems.push(`${name}: is not set, but the other half of HTTPS is`)
    return null
  }
  try {
    return readFileSync(file)
  } catch (error) {
    problems.push(`${name}: cannot read ${file}: ${messageOf(error)}`)
    return null
  }
}
