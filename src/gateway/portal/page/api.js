const TOKEN_NAME = 'tallygate-portal-token'
const LIMIT_MS = 30_000

/** There is no token, or it has ended. */
export class NotSignedIn extends Error {}

/** In this tab alone; in the frame of a page whose storage the browser withholds, in memory. */
let token = readStored()

function readStored() {
  try {
    return sessionStorage.getItem(TOKEN_NAME)
  } catch {
    return null
  }
}

function keepToken(kept) {
  token = kept
  try {
    if (kept === null) sessionStorage.removeItem(TOKEN_NAME)
    else sessionStorage.setItem(TOKEN_NAME, kept)
  } catch {
    // The token goes on in memory.
  }
}

/** Takes a token from behind # in the address, where no server and no log sees it, and removes it there. */
export function takeTokenOfAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given === null) return
  history.replaceState(null, '', location.pathname + location.search)
  keepToken(given)
}

export function hasToken() {
  return token !== null
}

/**
 * Exchanges a key, which is not kept, for a token.
 *
 * @param {string} key
 * @throws {Error} With a sentence for people.
 */
export async function signIn(key) {
  // What a header cannot hold cannot be a key either.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error('That is not an API key of this gateway.')
  const answer = await (await send('session', { method: 'POST', headers: bearer(key) })).json()
  keepToken(answer.token)
}

/** Ends the token. Where that fails, it ends by itself. */
export async function signOut() {
  const ended = token
  keepToken(null)
  if (ended !== null) await send('session', { method: 'DELETE', headers: bearer(ended) }).catch(() => {})
}

export function dropToken() {
  keepToken(null)
}

/**
 * What `/portal/v1` answers.
 *
 * @param {string} path `usage`
 * @param {Record<string, string | number>} [query]
 * @throws {NotSignedIn} When the token has ended.
 */
export async function ask(path, query = {}) {
  return await (await get(path, query)).json()
}

/** The same of a list, with the cursor of what comes behind it; `null`: nothing does. */
export async function askPart(path, query = {}) {
  const response = await get(path, query)
  return { items: await response.json(), next: response.headers.get('x-tallygate-next-cursor') }
}

/** The same as a file. */
export async function askFile(path, query = {}) {
  return await (await get(path, query)).blob()
}

async function get(path, query) {
  if (token === null || !/^[\x21-\x7e]+$/.test(token)) throw new NotSignedIn()
  return await send(`${path}?${new URLSearchParams(query)}`, { headers: bearer(token) })
}

function bearer(secret) {
  return { authorization: `Bearer ${secret}` }
}

async function send(path, options) {
  const response = await fetch(`portal/v1/${path}`, {
    ...options,
    cache: 'no-store',
    credentials: 'omit',
    signal: AbortSignal.timeout(LIMIT_MS),
  })
  if (response.ok) return response
  const { error } = await response.json()
  if (response.status === 401) throw new NotSignedIn(error.message)
  throw new Error(error.message)
}
