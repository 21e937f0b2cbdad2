/**
 * What a call did with the response that its answer names. `created`: it had the response made, and counts whatever
 * its id: servers choose ids, or clients (vLLM), and the same id comes twice. `fetched`: it asked for a response that
 * existed already, whose usage counts once however often it is fetched, and by however many clients.
 */
export const RESPONSE_USES = ['created', 'fetched'] as const

export type ResponseUse = (typeof RESPONSE_USES)[number]

/**
 * The same for a record without it, from an earlier release: by method, and by a path that carries the id of what it
 * cancels.
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
