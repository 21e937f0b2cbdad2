// What of a list its client may see, page by page: one that is all others' is followed by the next.

import { foldObjectId } from '../../call/object-event.ts'
import type { Provider } from '../../providers/registry.ts'
import type { Owners } from '../object-index.ts'
import { cutPage, endsOfPage, idsInPage, type ListPage, readListPage } from './list-page.ts'

export interface ListFilterQuery {
  readonly provider: Provider
  /** What the upstream was asked for. */
  readonly pathAndQuery: string
  readonly clientId: string
  /**
   * Whose objects are shown: `own`: the client's alone, of a collection of all that the account has. `own_and_nobodys`:
   * of what stands in an object that was made by none of ours.
   */
  readonly shows: 'own' | 'own_and_nobodys'
  readonly findOwners: (ids: readonly string[]) => Owners | Promise<Owners>
  /** Another page of the same list; rejects where there is none. */
  readonly fetchPage: (pathAndQuery: string) => Promise<Buffer>
}

/**
 * Pages of others' objects that are passed over to find one of the client's, in that time. A page without anything
 * would be the end for most client libraries, and its cursor would name another's object.
 */
const MAX_PAGES = 200
const MAX_MS = 20_000

/** @throws Where the list is not one, a further page cannot be had, or too many pages hold nothing. */
export async function filterList(query: ListFilterQuery, first: Buffer): Promise<Buffer> {
  const until = performance.now() + MAX_MS
  let body = first
  let { pathAndQuery } = query
  for (let pages = 1; ; pages += 1) {
    const page = await readListPage(body)
    if (page === null) throw new Error('a list could not be read')
    const owners = await query.findOwners(idsInPage(page))
    if (page.ownId !== null) {
      // Some servers take any method for a path: what came is what they made of the request's body.
      const owner = owners.get(foldObjectId(page.ownId))
      if (owner === undefined || owner.clientId === query.clientId) return body
      throw new Error("an answer is another client's object")
    }
    const cut = cutPage(page, (ids) => isShown(query, owners, ids))
    if (cut.kept > 0 || cut.dropped === 0 || !page.hasMore) return cut.body
    const next = nextPage(query, pathAndQuery, page)
    if (next === null || pages === MAX_PAGES || performance.now() > until) {
      throw new Error("too many pages of a list hold nothing of the client's")
    }
    pathAndQuery = next
    body = await query.fetchPage(next)
  }
}

function isShown({ shows, clientId }: ListFilterQuery, owners: Owners, ids: readonly string[]): boolean {
  let own = false
  for (const id of ids) {
    const owner = owners.get(foldObjectId(id))
    if (owner === undefined) continue
    if (owner.clientId !== clientId) return false
    own = true
  }
  return own || shows === 'own_and_nobodys'
}

/** What to ask for behind `page`; `null`: unknown. */
function nextPage({ provider }: ListFilterQuery, pathAndQuery: string, page: ListPage): string | null {
  const queryStart = pathAndQuery.indexOf('?')
  const path = queryStart === -1 ? pathAndQuery : pathAndQuery.slice(0, queryStart)
  const query = new URLSearchParams(queryStart === -1 ? '' : pathAndQuery.slice(queryStart))
  if (page.nextPageToken !== null) {
    query.set(query.has('page_token') ? 'page_token' : 'pageToken', page.nextPageToken)
    return `${path}?${query}`
  }
  const isAnthropic = provider === 'anthropic' || /\/messages\/batches/i.test(path)
  const { first, last } = endsOfPage(page)
  const before = isAnthropic ? 'before_id' : 'before'
  const isBackwards = query.has(before)
  const id = isBackwards ? first : last
  if (id === null) return null
  query.set(isBackwards ? before : isAnthropic ? 'after_id' : 'after', id)
  return `${path}?${query}`
}
