/**
 * A 400 that is about the key: xAI and Gemini answer so. Servers repeat what a client wrote in messages about its
 * request, so only one that begins like this counts.
 */
const KEY_IS_WRONG = /^\s*(?:(?:incorrect|invalid) api key|api key (?:not valid|expired|not found))/i
/** Words of a 403 that speak of the caller's key, not of what the key was used for. */
const ABOUT_THE_KEY =
  /\b(?:api[ _-]?(?:key|token)|access token|bearer token|security token|subscription key|credentials?|unauthenticated|unregistered callers|authentication|signature)\b/i
/** Codes and types of errors in a 400 or 403. */
const KEY_CODES =
  /^(?:api_key_(?:invalid|expired|service_blocked)|invalid_api_key|authentication_error|permission_error|unauthenticated|access_token_\w+|unrecognizedclientexception|invalidsignatureexception|expiredtokenexception|missingauthenticationtoken(?:exception)?|invalidclienttokenid|incompletesignature(?:exception)?)$/i
/** AWS names its error here. */
const AWS_ERROR = 'x-amzn-errortype'
/** Members of error documents that hold text: OpenAI's, Anthropic's, Google's, AWS's, xAI's and Cloudflare's. */
const TEXTS = ['message', 'Message', 'detail', 'error', 'error_description']
const CODES = ['code', 'type', 'status', 'reason', '__type', 'error_code']
/** Google puts its reason below `details`; error documents are flat otherwise. */
const MAX_DEPTH = 4
const MAX_PARTS = 64

/** Statuses that may be about the credential of a request. A 401 always is, the others by their body. */
export function mayRefuseCredential(status: number): boolean {
  return status === 401 || status === 403 || status === 400
}

/**
 * Tells whether an answer of such a status refuses the credential of its request, by the providers' shapes of errors.
 *
 * @param headers with lower-case names
 * @param body content coding undone; anything but JSON is read as one message
 */
export function refusesCredential(
  status: number,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string,
): boolean {
  if (status === 401) return true
  const awsError = String(headers[AWS_ERROR] ?? '').split(':')[0] ?? ''
  if (KEY_CODES.test(awsError)) return true
  const { codes, texts } = whatIsSaid(body)
  if (codes.some((code) => KEY_CODES.test(code))) return true
  return texts.some((text) => (status === 400 ? KEY_IS_WRONG : ABOUT_THE_KEY).test(text))
}

interface Said {
  readonly codes: string[]
  readonly texts: string[]
}

function whatIsSaid(body: string): Said {
  const parts: Said = { codes: [], texts: [] }
  try {
    collect(JSON.parse(body), parts, 0)
  } catch {
    parts.texts.push(body)
  }
  return parts
}

function collect(value: unknown, parts: Said, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return
  if (parts.codes.length + parts.texts.length > MAX_PARTS) return
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === 'string') {
      if (CODES.includes(name)) parts.codes.push(inner.slice(inner.lastIndexOf('#') + 1))
      if (TEXTS.includes(name)) parts.texts.push(inner)
    } else collect(inner, parts, depth + 1)
  }
}
