import type { Observation } from '../call/observation.ts'
import type { Dialect, UsageReader } from './dialect.ts'
import { genericUsage } from './generic-usage.ts'
import { FREE_PATHS } from './paths/known-paths.ts'
import { entryOf, type Provider, selectDialect } from './registry.ts'

/** How the answer of a call is read. */
export type Reading =
  | { readonly reading: 'metered' | 'deferred' | 'unknown'; readonly dialect: Dialect }
  /** `null`: the answer is not read. */
  | { readonly reading: 'free'; readonly dialect: Dialect | null }

export interface RequestShape {
  readonly method: string
  readonly hasBody: boolean
  readonly webSocket: boolean
}

/** A request of these methods that has no body starts no generation at any server that keeps to HTTP. */
const FREE_WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE'])

const FREE: Reading = { reading: 'free', dialect: null }

/**
 * Requests that only begin work, as batches do: a later request reports what it uses, or none does. The id under which
 * a later request may report it is kept; an answer with usage of its own is believed.
 */
export const deferredWork: Dialect = {
  name: 'deferred',
  outputBound: 'unknown',
  readsRequest: false,
  takesIncludeUsage: false,
  modelInPath: () => null,
  createReader(request, head): UsageReader {
    const reader = genericUsage.createReader(request, head)
    return {
      push: (chunk) => reader.push(chunk),
      end: () => pendingUnlessReported(reader.end()),
      peek: () => pendingUnlessReported(reader.peek()),
      get revision() {
        return reader.revision
      },
    }
  },
  textOf: () => '',
}

function pendingUnlessReported(observed: Observation): Observation {
  return observed.usageSource === 'none' && !observed.pending ? { ...observed, pending: true } : observed
}

const DEFERRED: Reading = { reading: 'deferred', dialect: deferredWork }
const UNKNOWN: Reading = { reading: 'unknown', dialect: genericUsage }

/** At servers that anyone may run: what answers with usage there is counted all the same. */
const FREE_UNLESS_REPORTED: Reading = { reading: 'free', dialect: { ...genericUsage, isFree: true } }

/**
 * Every call is metered by a dialect, known to be free, the beginning of work that is billed later, or unknown. `path`
 * is canonical. Many routers take any method for a path, so a body makes any request a POST.
 */
export function readingOf(provider: Provider, shape: RequestShape, path: string): Reading {
  const { method, hasBody, webSocket } = shape
  const exact = selectDialect(provider, method, path)
  if (exact !== null) return { reading: 'metered', dialect: exact }
  if (webSocket) return UNKNOWN
  if (!hasBody && FREE_WITHOUT_BODY.has(method)) return freeUnlessReported(provider, method, path)
  const posted = method === 'POST' ? null : selectDialect(provider, 'POST', path)
  if (posted !== null) return { reading: 'metered', dialect: posted }
  const free = FREE_PATHS.find(provider, method, path) ?? FREE_PATHS.find(provider, 'POST', path)
  if (free === null) return UNKNOWN
  if (free.reportedBy !== undefined) return DEFERRED
  return entryOf(provider).catalog === null ? FREE_UNLESS_REPORTED : FREE
}

const reportedOnly = new Map<Dialect, Reading>()

/** Whatever a router that takes any method may serve there is read, and counted where it reports usage. */
function freeUnlessReported(provider: Provider, method: string, path: string): Reading {
  const fetched = selectDialect(provider, 'GET', path)
  const dialect = fetched ?? selectDialect(provider, 'POST', path)
  if (dialect === null) return FREE
  // Its answer never reports anything, whatever was generated for it.
  if (method === 'HEAD' && fetched === null && dialect.callsTools === undefined)
    return { reading: 'metered', dialect }
  return asFree(dialect)
}

/** The reading of a call that costs nothing, at an endpoint where others do: what it reports is counted. */
export function asFree(dialect: Dialect): Reading {
  let reading = reportedOnly.get(dialect)
  if (reading === undefined) {
    reading = { reading: 'free', dialect: { ...dialect, isFree: true } }
    reportedOnly.set(dialect, reading)
  }
  return reading
}
