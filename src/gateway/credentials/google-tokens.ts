import { sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type GoogleKeyFile, parseGoogleKeyFile } from '../../config/yaml/google-key-file.ts'
import type { Fetched } from '../../lib/credential-keeper.ts'
import { askForToken } from './token-request.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const LIFETIME_SECONDS = 3_600
/** Where a user's refresh token is changed for an access token. */
const USER_TOKENS = 'https://oauth2.googleapis.com/token'
const METADATA_PATH = '/computeMetadata/v1/instance/service-accounts/default/token'

/** Where Google's credentials come from. */
export interface GoogleSource {
  /** Read for each token; `null`: the metadata server. */
  readonly file: string | null
  /** `host[:port]` of the metadata server. */
  readonly metadataHost: string
}

/** An access token for Google Cloud. Sources: RFC 7523, and cloud.google.com/compute/docs/metadata. */
export async function fetchGoogleToken(
  { file, metadataHost }: GoogleSource,
  nowMs: number = Date.now(),
): Promise<Fetched<string>> {
  if (file === null) {
    const url = `http://${metadataHost}${METADATA_PATH}`
    return await askForToken({ url, headers: { 'metadata-flavor': 'Google' } }, nowMs)
  }
  const key = parseGoogleKeyFile(readFileSync(file, 'utf8'))
  if (typeof key === 'string') throw new Error(`the file of Google's credentials ${key}`)
  return await askForToken(requestOf(key, nowMs), nowMs)
}

function requestOf(key: GoogleKeyFile, nowMs: number) {
  switch (key.type) {
    case 'service_account':
      return {
        url: key.token_uri,
        form: {
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          assertion: assertionOf(key, nowMs),
        },
      }
    case 'authorized_user':
      return {
        url: key.token_uri ?? USER_TOKENS,
        form: {
          grant_type: 'refresh_token',
          client_id: key.client_id,
          client_secret: key.client_secret,
          refresh_token: key.refresh_token,
        },
      }
    default:
      return key satisfies never
  }
}

/** What the service account says of itself, signed with its key. */
function assertionOf(key: GoogleKeyFile & { readonly type: 'service_account' }, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  const head = { alg: 'RS256', typ: 'JWT', kid: key.private_key_id }
  const claims = {
    iss: key.client_email,
    scope: SCOPE,
    aud: key.token_uri,
    iat: seconds,
    exp: seconds + LIFETIME_SECONDS,
  }
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key.private_key).toString('base64url')}`
}
