import type { Route } from '../routing/route.ts'
import type { RequestScan, StreamOptions } from './request-body.ts'

const MEMBER = '"include_usage":true'
const OPTIONS_MEMBER = Buffer.from(`,"stream_options":{${MEMBER}}`)
const OPTIONS_OBJECT = Buffer.from(`{${MEMBER}}`)
const ONLY_MEMBER = Buffer.from(MEMBER)
const FIRST_MEMBER = Buffer.from(`${MEMBER},`)
const TRUE = Buffer.from('true')

/** Whether a stream of this endpoint reports its usage only where it is asked for, and the gateway asks. */
export function asksForUsage({ upstream, dialect }: Route): boolean {
  if (dialect === null) return false
  if (upstream.includeUsage === 'auto') return dialect.takesIncludeUsage
  return upstream.includeUsage === 'always' && dialect.knowsStreamOptions === true
}

/**
 * The member by which a server may take a stream to be asked for, or its usage not to be, where nothing can be edited
 * in: lenient servers take `"true"`, 1 and "on" for `true`. No client library writes that. `null`: there is none.
 */
export function oddStreamMember(scan: RequestScan): 'stream' | 'stream_options' | null {
  if (scan.hasOddStream || scan.duplicateStream) return 'stream'
  const options = scan.streamOptions
  if (options === null || options.kind === 'null') return null
  return options.kind === 'other' || options.includeUsage?.value === 'other' ? 'stream_options' : null
}

/** A change of a body: the bytes from `start` to `end` are replaced by `bytes`. */
export interface BodyEdit {
  readonly start: number
  /** Exclusive. */
  readonly end: number
  readonly bytes: Buffer
}

const byPlace = (a: BodyEdit, b: BodyEdit) => a.start - b.start

/** `body` with `edits` made, which do not overlap. Every other byte stays. */
export function editedBody(body: Buffer, edits: readonly BodyEdit[]): Buffer {
  let size = body.length
  for (const { start, end, bytes } of edits) size += bytes.length - (end - start)
  const edited = Buffer.allocUnsafe(size)
  let read = 0
  let written = 0
  for (const { start, end, bytes } of edits.length > 1 ? edits.toSorted(byPlace) : edits) {
    written += body.copy(edited, written, read, start)
    written += bytes.copy(edited, written)
    read = end
  }
  body.copy(edited, written, read)
  return edited
}

/** The same in parts, of a body that is too large to be copied at once. */
export function editedParts(body: Buffer, edits: readonly BodyEdit[]): Buffer[] {
  const parts: Buffer[] = []
  let at = 0
  for (const { start, end, bytes } of edits.toSorted(byPlace)) {
    parts.push(body.subarray(at, start), bytes)
    at = end
  }
  parts.push(body.subarray(at))
  return parts
}

/**
 * The edit that puts `stream_options.include_usage: true` into a body.
 *
 * A client's explicit `false` is a wish about what it sees: usage is asked for, and the event is taken out
 * again.
 *
 * @returns `null` when there is nothing to do: no stream is asked for, usage is asked for already, or the body cannot be
 *   edited safely (unreadable, keys twice, `stream_options` that are not an object).
 */
export function includeUsageEdit(scan: RequestScan): BodyEdit | null {
  if (!scan.readable || scan.stream !== true || scan.duplicateStream) return null
  const options = scan.streamOptions
  if (options === null) {
    return { start: scan.streamEnd, end: scan.streamEnd, bytes: OPTIONS_MEMBER }
  }
  switch (options.kind) {
    case 'null':
      return { start: options.start, end: options.end, bytes: OPTIONS_OBJECT }
    case 'object':
      return editInObject(options)
    case 'other':
      return null
    default:
      return options.kind satisfies never
  }
}

function editInObject(options: StreamOptions): BodyEdit | null {
  const asked = options.includeUsage
  if (asked === null) {
    const afterBrace = options.start + 1
    return { start: afterBrace, end: afterBrace, bytes: options.empty ? ONLY_MEMBER : FIRST_MEMBER }
  }
  if (asked.value === true || asked.value === 'other') return null
  return { start: asked.start, end: asked.end, bytes: TRUE }
}
