import { fetchWhole } from '#http-client/fetch-answer.ts'
import { isObject } from '../domain/json.ts'
import { type CallLater, callLater } from '../lib/call-later.ts'
import { entryOf } from '../providers/registry.ts'
import { proofOf } from './credentials/fetched-credential.ts'
import type { Upstream } from './routing/upstream-table.ts'

const REFRESH_MS = 300_000
const FIRST_RETRY_MS = 5_000
/** The first `/v1/models` waits this long for an upstream's list. */
const FIRST_WAIT_MS = 3_000
const FETCH_TIMEOUT_MS = 10_000
const MAX_LIST_BYTES = 16 * 1024 * 1024
const MAX_PAGES = 20

/** A model as `/v1/models` shows it. */
export interface ShownModel {
  readonly id: string
  readonly object: 'model'
  /** Seconds since 1970; only where the source has it. */
  readonly created?: number
  readonly owned_by: string
}

interface ModelList {
  readonly models: readonly ShownModel[]
  readonly nextQuery: string | null
}

/** What Anthropic's and Google's lists said of a model. */
const sources = new WeakMap<ShownModel, Readonly<Record<string, unknown>>>()

/** A row of Anthropic's or Google's own list; empty where the model is from another one. */
export function sourceOf(model: ShownModel): Readonly<Record<string, unknown>> {
  return sources.get(model) ?? {}
}

/** OpenAI's `data`, Anthropic's pages of it, Gemini's `models`, Together's bare array. */
export function parseList(answer: unknown, provider: string): ModelList {
  const rows = Array.isArray(answer) ? answer : isObject(answer) ? (answer.data ?? answer.models) : null
  const models: ShownModel[] = []
  for (const row of Array.isArray(rows) ? rows : []) {
    if (!isObject(row)) continue
    const id = row.id ?? (typeof row.name === 'string' ? row.name.replace(/^models\//, '') : undefined)
    if (typeof id !== 'string' || id === '') continue
    const owner = typeof row.owned_by === 'string' && row.owned_by !== '' ? row.owned_by : provider
    const created = Number.isSafeInteger(row.created) ? Number(row.created) : createdAt(row.created_at)
    const model = toListed(id, owner, created)
    // More than OpenAI's fields has only a list that is written otherwise.
    if (!('object' in row)) sources.set(model, row)
    models.push(model)
  }
  return { models, nextQuery: nextQueryOf(answer) }
}

function createdAt(text: unknown): number | undefined {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

function nextQueryOf(answer: unknown): string | null {
  if (!isObject(answer)) return null
  if (answer.has_more === true && typeof answer.last_id === 'string')
    return `after_id=${encodeURIComponent(answer.last_id)}`
  if (typeof answer.nextPageToken === 'string' && answer.nextPageToken !== '') {
    return `pageToken=${encodeURIComponent(answer.nextPageToken)}`
  }
  return null
}

function toListed(id: string, ownedBy: string, created: number | undefined): ShownModel {
  return created === undefined
    ? { id, object: 'model', owned_by: ownedBy }
    : { id, object: 'model', created, owned_by: ownedBy }
}

export interface ModelListing {
  /**
   * The models that are known now. Before the first list has come it waits for one, three seconds at most.
   */
  list(): readonly ShownModel[] | Promise<readonly ShownModel[]>
  /** Whether a model of this name is known now. */
  has(name: string): boolean
  stop(): void
}

/** An upstream answers so where it has no list of models: it is asked again as seldom as one that has. */
const HAS_NONE: ReadonlySet<number> = new Set([404, 405, 501])

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** What the last fetch of an upstream's list came to. */
interface ListState {
  /** The next wait after a failure; twice as long after each. */
  retryMs: number
  isFailing: boolean
}

/** `listing`, and the names of routes where it has none of these names. */
export function withRoutes(listing: ModelListing, names: readonly string[]): ModelListing {
  if (names.length === 0) return listing
  const join = (known: readonly ShownModel[]): readonly ShownModel[] => {
    const ids = new Set(known.map(({ id }) => id))
    return [
      ...names.filter((name) => !ids.has(name)).map((name) => toListed(name, 'tallygate', undefined)),
      ...known,
    ]
  }
  return {
    list() {
      const known = listing.list()
      return known instanceof Promise ? known.then(join) : join(known)
    },
    // Of the models that upstreams serve, not of names that stand for them.
    has: (name) => listing.has(name),
    stop: () => listing.stop(),
  }
}

/** A fixed list from the configuration. */
export function configuredModels(
  models: readonly { readonly id: string; readonly owned_by: string; readonly created?: number }[],
): ModelListing {
  const listed = models.map(({ id, owned_by, created }) => toListed(id, owned_by, created))
  const names = new Set(listed.map(({ id }) => id))
  return { list: () => listed, has: (name) => names.has(name), stop: () => {} }
}

/**
 * Keeps the upstreams' own lists, which are fetched at the start and every five minutes. While an upstream is
 * away its last list stays. An upstream without a list shows the exact names of its configuration.
 */
export function watchUpstreamModels(
  upstreams: readonly Upstream[],
  log: Log,
  later: CallLater = callLater,
): ModelListing {
  const lists = new Map<string, readonly ShownModel[]>()
  const waits = new Map<string, () => void>()
  let stopped = false
  let merged: ReadonlyMap<string, ShownModel> | null = null

  const refresh = async (upstream: Upstream, path: string, state: ListState): Promise<void> => {
    let next = REFRESH_MS
    try {
      const found = (await fetchModels(upstream, path)) ?? []
      lists.set(upstream.name, found.length > 0 ? found : exactNames(upstream))
      if (state.isFailing) {
        log.info(
          { event: 'upstream.models_fetched', upstream: upstream.name },
          'the model list is fetched again',
        )
      }
      state.isFailing = false
      state.retryMs = FIRST_RETRY_MS
    } catch (error) {
      next = state.retryMs
      state.retryMs = Math.min(2 * next, REFRESH_MS)
      if (!lists.has(upstream.name)) {
        const names = exactNames(upstream)
        if (names.length > 0) lists.set(upstream.name, names)
      }
      if (!state.isFailing) {
        log.warn(
          {
            event: 'upstream.models_not_fetched',
            upstream: upstream.name,
            reason: error instanceof Error ? error.message : String(error),
          },
          'the model list cannot be fetched; it is tried again, with a line once it is there',
        )
      }
      state.isFailing = true
    }
    merged = null
    if (stopped) return
    waits.set(
      upstream.name,
      later(next, () => void refresh(upstream, path, state)),
    )
  }

  const first = Promise.all(
    upstreams.map((upstream) => {
      const state = { retryMs: FIRST_RETRY_MS, isFailing: false }
      if (upstream.modelsPath !== null) return refresh(upstream, upstream.modelsPath, state)
      lists.set(upstream.name, exactNames(upstream))
      return null
    }),
  ).then(() => undefined)
  // Counted from the start of the process, so that an upstream that stays away does not delay every request.
  const { promise: firstWait, resolve: waited } = Promise.withResolvers<undefined>()
  const firstTimer = setTimeout(waited, FIRST_WAIT_MS, undefined)
  const current = (): ReadonlyMap<string, ShownModel> => {
    merged ??= mergeModels(upstreams, lists)
    return merged
  }
  const currentList = (): readonly ShownModel[] => [...current().values()]
  return {
    list() {
      if (upstreams.every(({ name }) => lists.has(name))) return currentList()
      return Promise.race([first, firstWait]).then(currentList)
    },
    has: (name) => current().has(name),
    stop() {
      stopped = true
      for (const cancel of waits.values()) cancel()
      clearTimeout(firstTimer)
    },
  }
}

function mergeModels(
  upstreams: readonly Upstream[],
  lists: ReadonlyMap<string, readonly ShownModel[]>,
): ReadonlyMap<string, ShownModel> {
  const byId = new Map<string, ShownModel>()
  for (const { name } of upstreams) {
    for (const model of lists.get(name) ?? []) if (!byId.has(model.id)) byId.set(model.id, model)
  }
  return byId
}

function exactNames(upstream: Upstream): readonly ShownModel[] {
  return (upstream.models ?? [])
    .filter((name) => !name.endsWith('*'))
    .map((name) => toListed(name, upstream.provider, undefined))
}

/** `null`: the upstream has no list. */
async function fetchModels(upstream: Upstream, first: string): Promise<readonly ShownModel[] | null> {
  const found: ShownModel[] = []
  let path: string | null = first
  for (let page = 0; path !== null && page < MAX_PAGES; page += 1) {
    const answer = await fetchJson(upstream, path)
    if (answer === null) return null
    const list = parseList(answer, upstream.provider)
    found.push(...list.models)
    path = list.nextQuery === null ? null : `${first}${first.includes('?') ? '&' : '?'}${list.nextQuery}`
  }
  return found
}

async function fetchJson(upstream: Upstream, path: string): Promise<object | null> {
  const { requestHeaders = {} } = entryOf(upstream.provider)
  const headers = [
    'host',
    upstream.host,
    'accept',
    'application/json',
    ...Object.entries(requestHeaders).flat(),
    ...(await proofOf(upstream, 'GET', upstream.basePath + path)),
  ]
  const request = { method: 'GET', path: upstream.basePath + path, headers, timeoutMs: FETCH_TIMEOUT_MS }
  const { status, body } = await fetchWhole(upstream.pool, request, MAX_LIST_BYTES)
  if (HAS_NONE.has(status)) return null
  if (status !== 200) throw new Error(`the upstream answered ${status}`)
  try {
    return Object(JSON.parse(body.toString('utf8')))
  } catch {
    // The parser's message quotes the answer, and what an upstream answers is never logged.
    throw new Error('the model list is not JSON')
  }
}
