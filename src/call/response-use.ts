/**
 * What a call did with the response that its answer names. `created`: it had the response made, and is counted whatever
 * its id: ids are the server's to choose, or the client's (vLLM), and come twice. `fetched`: it asked for a response
 * that was there, whose usage counts once however often and by whomever it is fetched.
 */
export const RESPONSE_USES = ['created', 'fetched'] as const

export type ResponseUse = (typeof RESPONSE_USES)[number]

/**
 * The same of a record that does not say it, as records of earlier releases: by method, and by a path that carries the
 * id of what it cancels.
 */
export function responseUseOf({
  method,
  path,
}: {
  readonly method: string
  readonly path: string
}): ResponseUse {
  return method === 'GET' || path.endsWith('/cancel') ? 'fetched' : 'created'
}
