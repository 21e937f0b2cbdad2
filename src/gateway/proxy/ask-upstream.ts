import { fetchWhole } from '../../http/client/fetch-answer.ts'
import { decodeList, MAX_LIST_BYTES } from '../../objects/lists/listed-answer.ts'
import type { Upstream } from '../routing/upstreams.ts'

/** The limit for one further page. The call that waits for it has limits of its own. */
const PAGE_TIMEOUT_MS = 10_000

/**
 * Asks the upstream for another page of a list, with the headers of the call that asked for the first page.
 *
 * @throws When the answer is not a 200 with a page that can be held.
 */
export async function askUpstream(
  upstream: Upstream,
  headers: string[],
  pathAndQuery: string,
): Promise<Buffer> {
  const path = upstream.basePath + pathAndQuery
  const request = { method: 'GET', path, headers, timeoutMs: PAGE_TIMEOUT_MS }
  const answer = await fetchWhole(upstream.pool, request, MAX_LIST_BYTES)
  if (answer.status !== 200) throw new Error(`a page of a list was answered with ${answer.status}`)
  return await decodeList(answer.body, answer.headers['content-encoding'])
}
