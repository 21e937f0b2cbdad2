import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const PARAMETER = 'tallygate_upload'
/** Longer than any upload goes on. */
const VALID_MS = 24 * 60 * 60_000
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
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
  const pepper = peppers[0]
  if (bound === null || pepper === undefined) return target
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, secretOf(pepper), iv).setAAD(bound)
  const sealed = Buffer.concat([cipher.update(`${nowMs + VALID_MS} ${key}`, 'utf8'), cipher.final()])
  const ticket = Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
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
  const ticket = Buffer.from(found[1] ?? '', 'base64url')
  if (bound === null || ticket.length <= IV_BYTES + TAG_BYTES) return { target: rest, key: null }
  for (const pepper of sealing.peppers) {
    const opened = open(ticket, pepper, bound)?.split(' ')
    if (opened === undefined) continue
    return { target: rest, key: Number(opened[0]) > sealing.nowMs ? (opened[1] ?? null) : null }
  }
  return { target: rest, key: null }
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

function open(ticket: Buffer, pepper: string, bound: Buffer): string | null {
  try {
    const decipher = createDecipheriv(CIPHER, secretOf(pepper), ticket.subarray(0, IV_BYTES))
    decipher.setAAD(bound).setAuthTag(ticket.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    const opened = [decipher.update(ticket.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]
    return Buffer.concat(opened).toString('utf8')
  } catch {
    return null
  }
}

function secretOf(pepper: string): Buffer {
  return createHmac('sha256', pepper).update('tallygate upload ticket').digest()
}
