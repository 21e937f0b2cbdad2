import type { Dispatcher } from 'undici'
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
  const answer: Dispatcher.ResponseData = await upstream.pool.request({
    method: 'GET',
    path: upstream.basePath + pathAndQuery,
    headers,
    signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
  })
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of answer.body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > MAX_LIST_BYTES) throw new Error('a list is too long to be held')
    pieces.push(piece)
  }
  if (answer.statusCode !== 200) throw new Error(`a page of a list was answered with ${answer.statusCode}`)
  return await decodeList(Buffer.concat(pieces), answer.headers['content-encoding'])
}
