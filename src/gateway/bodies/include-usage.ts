import type { Route } from '../routing/route.ts'
import type { RequestScan, StreamOptions } from './request-body.ts'

const MEMBER = '"include_usage":true'

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

/**
 * Edits `stream_options.include_usage: true` into a body and leaves every other byte as it was.
 *
 * A client's explicit `false` is a wish about what it sees: usage is asked for, and the event is taken out
 * again.
 *
 * @returns the parts that make up the edited body. `null` when there is nothing to do: no stream is asked
 *   for, usage is asked for already, or the body cannot be edited safely (unreadable, keys twice,
 *   `stream_options` that are not an object).
 */
export function spliceIncludeUsage(body: Buffer, scan: RequestScan): Buffer[] | null {
  if (!scan.readable || scan.stream !== true || scan.duplicateStream) return null
  const options = scan.streamOptions
  if (options === null) {
    return spliced(body, scan.streamEnd, `,"stream_options":{${MEMBER}}`, scan.streamEnd)
  }
  switch (options.kind) {
    case 'null':
      return spliced(body, options.start, `{${MEMBER}}`, options.end)
    case 'object':
      return spliceIntoObject(body, options)
    case 'other':
      return null
    default:
      return options.kind satisfies never
  }
}

function spliceIntoObject(body: Buffer, options: StreamOptions): Buffer[] | null {
  const asked = options.includeUsage
  if (asked === null) {
    const afterBrace = options.start + 1
    return spliced(body, afterBrace, options.empty ? MEMBER : `${MEMBER},`, afterBrace)
  }
  if (asked.value === true || asked.value === 'other') return null
  return spliced(body, asked.start, 'true', asked.end)
}

/** `body` with the bytes from `start` to `end` replaced by `text`. */
function spliced(body: Buffer, start: number, text: string, end: number): Buffer[] {
  return [body.subarray(0, start), Buffer.from(text, 'latin1'), body.subarray(end)]
}
