import { openText, sealText } from '../../domain/sealed-text.ts'

const PARAMETER = 'tallygate_upload'
/** Longer than any upload goes on. */
const VALID_MS = 24 * 60 * 60_000
const PURPOSE = 'tallygate upload ticket'
const TICKET = new RegExp(`&${PARAMETER}=([\\w-]*)`)
const UPLOAD = /upload\//i
const UPLOAD_ID = /^upload_id=([^#]+)/i

/** What seals tickets: the first pepper; any of them opens one. */
interface Sealing {
  readonly peppers: readonly string[]
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * `target` with a ticket for its upload. Google's libraries for Python send the bytes of a file without a credential, as
 * the address alone admits them there. The ticket holds the key of the client that began the upload, sealed, and is good
 * for that one address and a day. Any other `target` stays.
 */
export function withUploadTicket(target: string, key: string, { peppers, nowMs }: Sealing): string {
  const bound = boundTo(target)
  if (bound === null || peppers.length === 0) return target
  const ticket = sealText(`${nowMs + VALID_MS} ${key}`, { peppers, purpose: PURPOSE, bound })
  return `${target}&${PARAMETER}=${ticket}`
}

/** Takes a ticket out of a target; `key`: whose it is, if it is good for this target. */
export function takeUploadTicket(
  target: string,
  sealing: Sealing,
): { readonly target: string; readonly key: string | null } {
  const found = TICKET.exec(target)
  if (found === null) return { target, key: null }
  const rest = target.slice(0, found.index) + target.slice(found.index + found[0].length)
  const bound = boundTo(rest)
  if (bound === null) return { target: rest, key: null }
  const opened = openText(found[1] ?? '', { peppers: sealing.peppers, purpose: PURPOSE, bound })?.split(' ')
  if (opened === undefined || Number(opened[0]) <= sealing.nowMs) return { target: rest, key: null }
  return { target: rest, key: opened[1] ?? null }
}

/**
 * The path and the id of an upload, by which its ticket is bound; `null`: the target is none. In linear time: the
 * client has shown no key yet.
 */
function boundTo(target: string): Buffer | null {
  const queryStart = target.indexOf('?')
  const path = target.slice(0, Math.max(0, queryStart))
  if (path.includes('#') || !UPLOAD.test(path)) return null
  const ids = target
    .slice(queryStart + 1)
    .split('&')
    .flatMap((parameter) => UPLOAD_ID.exec(parameter)?.[1] ?? [])
  // Of two, a server may take either.
  return ids.length === 1 ? Buffer.from(`${path}?${ids[0]}`) : null
}
