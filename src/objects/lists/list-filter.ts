// The part of a list that its client may see, page by page: one that is all others' is followed by the next.
import { foldObjectId } from '../../call/object-event.ts'
import { parsedJson } from '../../domain/json.ts'
import { objectIn, textIn } from '../../providers/reading/json-value.ts'
import type { Provider } from '../../providers/registry.ts'
import { nestedEnd, spaceEnd, stringEnd } from '../../providers/wires/json-bytes.ts'
import { ObjectWalk } from '../../providers/wires/object-walk.ts'
import type { Owners } from '../object-index.ts'
import { namesIn } from '../object-path.ts'

export interface ListFilterQuery {
  readonly provider: Provider
  /** The page that the upstream was asked for. */
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

// One page of a list, as bytes: which objects stand in it, and the same page without some of them.
interface Element {
  readonly start: number
  /** Exclusive. */
  readonly end: number
  /** The id that it is named by; empty: nothing readable. */
  readonly ids: readonly string[]
}

/** An array of the page. Offsets are into its body. */
interface ElementArray {
  readonly start: number
  readonly end: number
  readonly elements: readonly Element[]
}

/** A value of the page's top level that names an object: where a reader goes on. */
interface Cursor {
  readonly end: 'first' | 'last'
  readonly from: number
  readonly to: number
}

interface ListPage {
  readonly body: Buffer
  readonly arrays: readonly ElementArray[]
  readonly cursors: readonly Cursor[]
  /** The document is one object, which says its own id, and no list. */
  readonly ownId: string | null
  /** There are further pages. */
  readonly hasMore: boolean
  /** The place where they begin, as the next request has to say it; `null`: the list names no such place. */
  readonly next: { readonly parameter: string; readonly token: string } | null
}

/** The members that say where the next page begins, and the parameters that take it: Google's, Cohere's, AWS's, xAI's. */
const NEXT_PAGE: Readonly<Record<string, string>> = {
  nextPageToken: 'pageToken',
  next_page_token: 'page_token',
  nextToken: 'nextToken',
  pagination_token: 'pagination_token',
}

/** Members of a list's top level; none has more than ten. */
const MAX_MEMBERS = 1_000
/** Bytes that are read before others have their turn. */
const TURN_BYTES = 512 * 1024
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const QUOTE = 0x22

/** @returns `null`: not one JSON document whose lists could be read. */
export async function readListPage(body: Buffer): Promise<ListPage | null> {
  const root = spaceEnd(body, body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0)
  const spans: { start: number; end: number }[] = []
  const cursors: Cursor[] = []
  let hasMore = false
  let next: ListPage['next'] = null
  let hides = false
  let ownId: string | null = null
  if (body[root] === OPEN_BRACKET) {
    const end = nestedEnd(body, root)
    if (end === -1 || spaceEnd(body, end) !== body.length) return null
    spans.push({ start: root, end })
  } else {
    const walk = new ObjectWalk(root, MAX_MEMBERS, (keyStart, keyEnd, from, to) => {
      const key = body.toString('latin1', keyStart, Math.min(keyEnd, keyStart + 64))
      if (body[from] === OPEN_BRACKET) spans.push({ start: from, end: to })
      // A list that stands deeper is none that anybody here knows.
      else if (body[from] === OPEN_BRACE) hides ||= body.subarray(from, to).includes(OPEN_BRACKET)
      else if (key === 'first_id' || key === 'last_id') {
        cursors.push({ end: key === 'first_id' ? 'first' : 'last', from, to })
      } else if (key === 'id') ownId = textAt(body, from, to)
      else if (key === 'has_more') hasMore = body.toString('latin1', from, to) === 'true'
      else {
        const parameter = NEXT_PAGE[key]
        const token = parameter === undefined ? null : textAt(body, from, to)
        if (parameter !== undefined && token !== null) next = { parameter, token }
      }
    })
    for (let to = TURN_BYTES; ; to += TURN_BYTES) {
      walk.advance(body.subarray(0, to))
      if (to >= body.length || walk.isMalformed) break
      await new Promise(setImmediate)
    }
    if (!walk.isWhole(body) || walk.hasTooManyMembers) return null
  }
  if (ownId !== null) return { body, arrays: [], cursors: [], ownId, hasMore: false, next: null }
  if (hides) return null
  const arrays: ElementArray[] = []
  for (const { start, end: arrayEnd } of spans) {
    const elements = await readElements(body, start)
    if (elements === null) return null
    arrays.push({ start, end: arrayEnd, elements })
  }
  return { body, arrays, cursors, ownId, hasMore: hasMore || next !== null, next }
}

async function readElements(body: Buffer, start: number): Promise<Element[] | null> {
  const elements: Element[] = []
  let turnEnd = start + TURN_BYTES
  let at = spaceEnd(body, start + 1)
  while (body[at] !== CLOSE_BRACKET) {
    const end = valueEnd(body, at)
    if (end === -1) return null
    elements.push({ start: at, end, ids: idsOf(parse(body, at, end)) })
    at = spaceEnd(body, end)
    if (body[at] === COMMA) at = spaceEnd(body, at + 1)
    else if (body[at] !== CLOSE_BRACKET) return null
    if (at > turnEnd) {
      turnEnd = at + TURN_BYTES
      await new Promise(setImmediate)
    }
  }
  return elements
}

function valueEnd(body: Buffer, at: number): number {
  if (body[at] === OPEN_BRACE || body[at] === OPEN_BRACKET) return nestedEnd(body, at)
  if (body[at] === QUOTE) {
    const end = stringEnd(body, at + 1)
    return end === -1 ? -1 : end + 1
  }
  let end = at
  while (end < body.length && body[end] !== COMMA && body[end] !== CLOSE_BRACKET) end += 1
  return end > at ? end : -1
}

function parse(body: Buffer, from: number, to: number): unknown {
  return parsedJson(body.toString('utf8', from, to))
}

function textAt(body: Buffer, from: number, to: number): string | null {
  return textIn(parse(body, from, to))
}

function idsOf(element: unknown): readonly string[] {
  if (typeof element === 'string') return [element, ...namesIn(element).map(({ id }) => id)]
  const document = objectIn(element)
  if (document === null) return []
  const { id, request_id, job_id, task_id, batch_id, invocationArn, jobArn } = document
  const named = [id, request_id, job_id, task_id, batch_id, invocationArn, jobArn]
  const ids = named.flatMap((text) => textIn(text) ?? [])
  if (ids.length > 0) return ids.flatMap((text) => [text, ...namesIn(text).map((name) => name.id)])
  return namesIn(textIn(document.name) ?? '').map(({ id }) => id)
}

/** Everything that the page names. */
function idsInPage({ arrays, ownId }: ListPage): readonly string[] {
  if (ownId !== null) return [ownId]
  return arrays.flatMap(({ elements }) => elements.flatMap(({ ids }) => ids))
}

/** The ids of the first and the last object of a page, kept or not. */
function endsOfPage({ arrays }: ListPage): {
  readonly first: string | null
  readonly last: string | null
} {
  const elements = arrays.flatMap((array) => array.elements)
  return { first: elements[0]?.ids[0] ?? null, last: elements.at(-1)?.ids[0] ?? null }
}

interface CutPage {
  readonly body: Buffer
  readonly kept: number
  readonly dropped: number
}

/**
 * The page without what is not `mine`. Every other byte stays, but for the cursors that name the first and the last
 * object: they name those that are left.
 */
export function cutPage(page: ListPage, isShown: (ids: readonly string[]) => boolean): CutPage {
  const { body, arrays, cursors } = page
  const edits: { readonly from: number; readonly to: number; readonly text: Buffer | string }[] = []
  const kept: Element[] = []
  let dropped = 0
  for (const { start, end, elements } of arrays) {
    const shown = elements.filter(({ ids }) => isShown(ids))
    kept.push(...shown)
    dropped += elements.length - shown.length
    if (shown.length === elements.length) continue
    edits.push({ from: start, to: end, text: joined(body, start, end, elements, shown) })
  }
  if (dropped > 0) {
    for (const { end, from, to } of cursors) {
      const id = (end === 'first' ? kept[0] : kept.at(-1))?.ids[0]
      edits.push({ from, to, text: id === undefined ? 'null' : JSON.stringify(id) })
    }
  }
  if (edits.length === 0) return { body, kept: kept.length, dropped }
  edits.sort((left, right) => left.from - right.from)
  const pieces: Buffer[] = []
  let at = 0
  for (const { from, to, text } of edits) {
    pieces.push(body.subarray(at, from), typeof text === 'string' ? Buffer.from(text) : text)
    at = to
  }
  pieces.push(body.subarray(at))
  return { body: Buffer.concat(pieces), kept: kept.length, dropped }
}

/** The array with `shown` alone, each behind what stood before it. */
function joined(
  body: Buffer,
  start: number,
  end: number,
  elements: readonly Element[],
  shown: readonly Element[],
): Buffer {
  const first = elements[0]
  const last = elements.at(-1)
  if (first === undefined || last === undefined) return body.subarray(start, end)
  if (shown.length === 0) return Buffer.from('[]')
  const pieces = [body.subarray(start, first.start)]
  const isShown = new Set(shown)
  let before: Element | null = null
  let any = false
  for (const element of elements) {
    if (isShown.has(element)) {
      if (any && before !== null) pieces.push(body.subarray(before.end, element.start))
      pieces.push(body.subarray(element.start, element.end))
      any = true
    }
    before = element
  }
  pieces.push(body.subarray(last.end, end))
  return Buffer.concat(pieces)
}

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

/** The request for what is behind `page`; `null`: unknown. */
function nextPage({ provider }: ListFilterQuery, pathAndQuery: string, page: ListPage): string | null {
  const queryStart = pathAndQuery.indexOf('?')
  const path = queryStart === -1 ? pathAndQuery : pathAndQuery.slice(0, queryStart)
  const query = new URLSearchParams(queryStart === -1 ? '' : pathAndQuery.slice(queryStart))
  if (page.next !== null) {
    // Google takes its own in both spellings.
    query.set(query.has('page_token') ? 'page_token' : page.next.parameter, page.next.token)
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
