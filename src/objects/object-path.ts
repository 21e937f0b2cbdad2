// Which objects a path is about: the ids in it, and the collection where it ends.

import type { AnswerHeaders } from '#http-client/answer-handler.ts'
import { foldObjectId, type ObjectKind } from '../call/object-event.ts'
import { entryOf, PROVIDERS } from '../providers/registry.ts'
import { JOBS, JOBS_WHEN_RUNNING, NOT_IDS, SPEAKING_ID } from './object-kinds.ts'

interface Collection {
  /** No other segments stand before these. */
  readonly isFirst: boolean
  readonly segments: readonly string[]
  readonly kind: ObjectKind
}

/** Those of all providers: a path means the same wherever it is sent, so that no upstream opens another's objects. */
const COLLECTIONS: readonly Collection[] = PROVIDERS.flatMap((provider) =>
  Object.entries(entryOf(provider).collections ?? {}).map(([path, kind]) => ({
    isFirst: path.startsWith('/'),
    segments: path.replace(/^\//, '').split('/'),
    kind,
  })),
)

export interface ObjectName {
  readonly kind: ObjectKind
  readonly id: string
}

export interface ObjectPath {
  /** In the order of the path: what stands in front holds what follows. */
  readonly names: readonly ObjectName[]
  /** The path ends in this collection: a GET lists it, a POST adds to it. */
  readonly collection: ObjectKind | null
  /** The path ends in the last of `names`: a GET reads it, a DELETE deletes it. */
  readonly endsInName: boolean
  /** The last segment in lower case, or what follows its colon in Google's paths: `cancel`, `batchgeneratecontent`. */
  readonly verb: string
}

/** Paths without ids are few and come again and again; the hot ones are found here. */
const known = new Map<string, ObjectPath>()
const MAX_KNOWN = 2_000

/** @param canonicalPath As `canonicalPath` gives it, an upstream's prefix taken off. */
export function readObjectPath(canonicalPath: string): ObjectPath {
  const before = known.get(canonicalPath)
  if (before !== undefined) return before
  const path = parse(canonicalPath)
  if (path.names.length === 0) {
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(canonicalPath, path)
  }
  return path
}

function parse(canonicalPath: string): ObjectPath {
  const segments = canonicalPath.split('/').filter((segment) => segment !== '')
  const lower = segments.map((segment) => segment.toLowerCase())
  const names: ObjectName[] = []
  let collection: ObjectKind | null = null
  let endsInName = false
  let at = 0
  while (at < segments.length) {
    const found = collectionAt(lower, at)
    collection = null
    endsInName = false
    if (found === null) {
      const segment = segments[at] ?? ''
      if (SPEAKING_ID.test(segment)) names.push({ kind: 'file', id: segment })
      at += 1
      continue
    }
    at += found.segments.length
    const next = lower[at]
    if (next === undefined) {
      collection = found.kind
    } else if (NOT_IDS.has(next)) {
      at += 1
      // Objects made below a verb are the collection's: `videos/generations`, `threads/runs`.
      if (at === segments.length) collection = found.kind
    } else {
      // AWS takes an ARN, or its last part in its place.
      if (next.startsWith('arn:') && at + 1 < segments.length) at += 1
      endsInName = addName(names, found.kind, segments[at] ?? '')
      at += 1
      endsInName = endsInName && at >= segments.length
    }
  }
  const last = lower.at(-1) ?? ''
  return { names, collection, endsInName, verb: last.slice(last.lastIndexOf(':') + 1) }
}

/** The longest collection whose segments begin at `at`. */
function collectionAt(lower: readonly string[], at: number): Collection | null {
  let best: Collection | null = null
  for (const collection of COLLECTIONS) {
    const { isFirst, segments } = collection
    if (isFirst && at > 0) continue
    if (segments.length <= (best?.segments.length ?? 0)) continue
    if (segments.every((segment, index) => isSegment(segment, lower[at + index]))) best = collection
  }
  return best
}

function isSegment(segment: string, written: string | undefined): boolean {
  return segment === '*' ? written !== undefined : written === segment
}

/**
 * Adds an id. Google's have their method behind a colon (`batches/1:cancel`), which others' ids may hold, so both
 * readings are names. Gives whether the path could end in the object itself.
 */
function addName(names: ObjectName[], kind: ObjectKind, id: string): boolean {
  names.push({ kind, id })
  // A version of Vertex's is the model's.
  const at = kind === 'model' ? id.indexOf('@') : -1
  if (at > 0) names.push({ kind, id: id.slice(0, at) })
  const colon = id.lastIndexOf(':')
  if (colon <= 0 || !/^[a-z]+$/i.test(id.slice(colon + 1))) return true
  names.push({ kind, id: id.slice(0, colon) })
  return false
}

const NAME_PATH = /^(?:https?:\/\/[^/]+|arn:(?:[^:/]*:){4})?\/?([\w.~/:%@-]+)$/

/**
 * The objects that a name or address of Google's means (`files/abc`, `https://…/v1beta/files/abc`,
 * `tunedModels/a/operations/b`), or an ARN of AWS's (`arn:aws:bedrock:eu-west-1:1:async-invoke/abc`); none where the
 * text is not one.
 */
export function namesIn(text: string): readonly ObjectName[] {
  if (!text.includes('/') || text.length > 1_024) return []
  const path = NAME_PATH.exec(text)?.[1]
  return path === undefined ? [] : parse(`/${path}`).names
}

/**
 * An id as written, and what it names where it is an address, a name with its collection, or Cohere's of a model that
 * was tuned.
 */
export function readings(text: string): readonly string[] {
  if (!text.includes('/')) return /-ft$/i.test(text) ? [text, text.slice(0, -3)] : [text]
  const names = readObjectPath(`/${text.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/)[0] ?? ''}`).names
  return [text, ...names.map(({ id }) => id)].filter((id) => foldObjectId(id) !== '')
}

// Ids that stand in a query string: cursors of lists, and what a request is about beside its path.
const ID_PARAMETER = /(?:id|ids|after|before|name|cursor|conversation|container)$/i
const MAX_IDS = 16

/** @returns `null`: more than an honest client sends. */
export function idsInQuery(pathAndQuery: string): readonly string[] | null {
  const queryStart = pathAndQuery.indexOf('?')
  if (queryStart === -1) return []
  const ids: string[] = []
  for (const [name, value] of new URLSearchParams(pathAndQuery.slice(queryStart))) {
    if (value === '' || !ID_PARAMETER.test(name.replace(/\[\w*\]$/, ''))) continue
    if (ids.length === MAX_IDS) return null
    ids.push(value)
  }
  return ids
}

// Uploads of Google's that are begun by one call: a client that has the id from its answer may send the bytes.
const UPLOAD_PATH = /^\/(?:resumable\/)?upload\//i
const UPLOAD_ID = /[?&]upload_id=([^&#]+)/i
const ADDRESSES = ['x-goog-upload-url', 'x-goog-upload-control-url', 'location'] as const

/** Tells whether files are sent to a canonical path as Google takes them. */
export function isUploadPath(canonicalPath: string): boolean {
  return UPLOAD_PATH.test(canonicalPath)
}

/** The uploads that an answer begins, by the addresses in its headers. */
export function uploadIdsIn(headers: AnswerHeaders): readonly string[] {
  return ADDRESSES.flatMap((name) => {
    const written = UPLOAD_ID.exec(String(headers[name] ?? ''))?.[1]
    return written === undefined ? [] : [decoded(written)]
  })
}

function decoded(text: string): string {
  return new URLSearchParams(`id=${text}`).get('id') ?? text
}

// Which calls end a job, or read what it made where its use is not reported.
/** The jobs that a call would end. */
export interface EndedJobs {
  /** Their ids, or those of files that tell what the jobs used that left them. */
  readonly ids: readonly string[]
  /** Jobs that were submitted to this path go with it, in lower case; '': none. */
  readonly below: string
  /** It is deleted, and can tell nothing afterwards. */
  readonly isDeleted: boolean
  /** The path of the file that it deletes; `null`: it is none. */
  readonly filePath: string | null
}

/** The jobs that a call deletes or cancels, by what it names; `null`: it names nothing that may be one. */
export function jobsEndedBy(method: string, canonicalPath: string): EndedJobs | null {
  if (method !== 'DELETE' && !(method === 'POST' && /cancel$/i.test(canonicalPath))) return null
  const path = readObjectPath(canonicalPath)
  const isDeleted = method === 'DELETE'
  if (!(isDeleted ? endsInJob(path) : path.verb === 'cancel')) return null
  const isFile = isDeleted && path.names.length === 1 && path.names[0]?.kind === 'file'
  const ids = path.names.flatMap((name) => (isFile || mayBeJob(name, path) ? [name.id] : []))
  if (ids.length === 0) return null
  const isEval = isDeleted && path.names.length === 1 && path.names[0]?.kind === 'eval'
  return {
    ids,
    below: isEval ? `${canonicalPath}/runs`.toLowerCase() : '',
    isDeleted,
    filePath: isFile ? canonicalPath : null,
  }
}

/**
 * The parts of jobs that a GET reads beside their use: what stands below a job, the address of a file that one may have
 * left, and items of conversations and inputs of responses, which hold what responses in the background said.
 */
export function jobsReadBy(path: ObjectPath): readonly (ObjectName & { readonly job: boolean })[] {
  if (endsInJob(path) || path.collection !== null || path.names.length === 0) return NONE
  return path.names.flatMap((name): readonly (ObjectName & { readonly job: boolean })[] => {
    if (name.kind === 'conversation' || /^(?:input_)?items$/.test(path.verb)) return [{ ...name, job: false }]
    if (name.kind === 'file' && path.verb === 'url') return [{ ...name, job: true }]
    return mayBeJob(name, path) ? [{ id: name.id, kind: kindOf(name, path), job: true }] : []
  })
}

const NONE: readonly never[] = []

/** An id that speaks for itself ends the path of a run of an eval. */
function endsInJob({ endsInName, names, verb }: ObjectPath): boolean {
  return endsInName || names.at(-1)?.id.toLowerCase() === verb
}

function mayBeJob(name: ObjectName, path: ObjectPath): boolean {
  const kind = kindOf(name, path)
  return JOBS.has(kind) || JOBS_WHEN_RUNNING.has(kind) || kind === 'eval'
}

/** Runs of evals look like files, but for what they stand in. */
function kindOf({ kind }: ObjectName, { names }: ObjectPath): ObjectKind {
  return names[0]?.kind === 'eval' ? 'eval' : kind
}
