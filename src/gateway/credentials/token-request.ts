import { parsedJson } from '../../domain/json.ts'
import type { Fetched } from '../../lib/credential-keeper.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024

/** What a token endpoint is asked. */
export interface TokenRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** The fields of a form, which is posted; absent: it is a GET. */
  readonly form?: Readonly<Record<string, string>>
}

/**
 * The text of the answer of an endpoint for credentials.
 *
 * @throws With what is wrong, and nothing of what was sent: not even an address, which may have a secret in it.
 */
export async function askEndpoint({ url, headers = {}, form }: TokenRequest): Promise<string> {
  const answer = await fetch(url, {
    headers: { accept: 'application/json', ...headers },
    ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new Error(`the endpoint for credentials does not answer: ${codeOf(error)}`)
  })
  const text = await textOf(answer.body)
  if (answer.ok) return text
  throw new Error(`the endpoint for credentials answered ${answer.status}${reasonIn(text)}`)
}

/** No more is read than a credential may have: an endpoint that never ends would fill the memory. */
async function textOf(body: Response['body']): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) break
      chunks.push(chunk)
    }
  } catch (error) {
    throw new Error(`the endpoint for credentials does not answer: ${codeOf(error)}`)
  }
  if (bytes > MAX_BYTES) throw new Error('the endpoint for credentials answers at great length')
  return Buffer.concat(chunks).toString('utf8')
}

/** The same of an endpoint of OAuth 2.0: its access token, with `expires_in` or `expires_on` in seconds. */
export async function askForToken(request: TokenRequest, nowMs: number): Promise<Fetched<string>> {
  const answer = parsed(await askEndpoint(request))
  const { access_token: token, expires_in: lifetime, expires_on: end } = answer
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new Error('the answer of the endpoint for credentials has no access_token')
  }
  const seconds = Number(lifetime ?? Number.NaN)
  const endSeconds = Number(end ?? Number.NaN)
  const endsAtMs = Number.isFinite(seconds) ? nowMs + seconds * 1000 : endSeconds * 1000
  if (!Number.isFinite(endsAtMs)) throw new Error('the access_token says no end')
  return { value: token, endsAtMs }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(text)
  if (typeof value === 'object' && value !== null) return { ...value }
  throw new Error('the answer of the endpoint for credentials is not JSON')
}

/** OAuth's word for what is wrong, Entra's number of it, or AWS's. Descriptions repeat what was sent. */
function reasonIn(text: string): string {
  const words = [
    /"error"\s*:\s*"([\w.-]{1,64})"/.exec(text)?.[1],
    /AADSTS\d{1,9}/.exec(text)?.[0],
    /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1],
  ].filter((word) => word !== undefined)
  return words.length === 0 ? '' : ` (${words.join(', ')})`
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.name
  return 'it broke off'
}
