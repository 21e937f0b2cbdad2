const TOKEN_NAME = 'tallygate-admin-token'

/** Longer than the gateway takes to answer that Postgres takes too long. */
const LIMIT_MS = 30_000

/** The token was refused, or there is none. */
export class NotSignedIn extends Error {}

export function hasToken() {
  return sessionStorage.getItem(TOKEN_NAME) !== null
}

/** Kept in this tab's session only: it is gone when the tab is closed. */
export function keepToken(token) {
  sessionStorage.setItem(TOKEN_NAME, token)
}

export function clearToken() {
  sessionStorage.removeItem(TOKEN_NAME)
}

/**
 * What `/admin/v1` answers.
 *
 * @param {string} path `usage`
 * @param {Record<string, string | number>} [query]
 * @returns {Promise<any>}
 * @throws {NotSignedIn} when the token is not the right one.
 */
export async function ask(path, query = {}) {
  const token = sessionStorage.getItem(TOKEN_NAME)
  // What a header cannot hold cannot be the token either.
  if (token === null || !/^[\x21-\x7e]+$/.test(token)) throw new NotSignedIn()
  const search = new URLSearchParams(query)
  const response = await fetch(`admin/v1/${path}?${search}`, {
    headers: { authorization: `Bearer ${token}` },
    cache: 'no-store',
    signal: AbortSignal.timeout(LIMIT_MS),
  })
  if (response.status === 401) throw new NotSignedIn()
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error.message)
  return answer
}
