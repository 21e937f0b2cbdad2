import { isObject } from '../../../call/codec/json-checks.ts'
import type { RetryCause } from '../../../config/yaml/routes.ts'

/** What the first event of a stream says: `null`, nothing yet; `fine`, it is not an error, or one that another
 * target would give too. */
export type HeadVerdict = RetryCause | 'fine' | null

/** A first event that is longer is not an error. */
const MAX_HEAD_BYTES = 64 * 1024

/** Errors of a request, a credential or an account: another try would come to the same. */
const OF_THE_CALL =
  /invalid|auth|permission|not_?found|billing|quota|too_large|unsupported|content|policy|safety/i
const OF_RATES = /rate_?limit|too_many|throttl|\b429\b/i

/**
 * The bytes of an event stream up to the end of its first event, so that they can be held until it is known not to be an
 * error. Comments before it, which keep connections alive, are held too.
 */
export class StreamHead {
  #held: Buffer[] = []
  #bytes = 0

  get held(): readonly Buffer[] {
    return this.#held
  }

  push(chunk: Buffer): HeadVerdict {
    this.#held.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > MAX_HEAD_BYTES) return 'fine'
    const text = Buffer.concat(this.#held).toString('utf8')
    for (const event of wholeEvents(text)) {
      const verdict = verdictOn(event)
      if (verdict !== null) return verdict
    }
    return null
  }
}

/** The events of `text` that have ended. */
function wholeEvents(text: string): readonly string[] {
  const events = text
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n')
    .split('\n\n')
  return events.slice(0, -1)
}

/** `null`: it has no data. */
function verdictOn(event: string): HeadVerdict {
  let name = ''
  let data = ''
  for (const line of event.split('\n')) {
    if (line.startsWith('event:')) name = line.slice('event:'.length).trim()
    else if (line.startsWith('data:')) data += line.slice('data:'.length)
  }
  if (data === '') return null
  const json = parsed(data)
  const error = isObject(json) ? errorIn(json, name) : null
  if (error === null) return 'fine'
  const kind = [error.type, error.code, error.status]
    .filter((part) => part !== undefined && part !== null)
    .join(' ')
  if (OF_RATES.test(kind)) return '429'
  if (OF_THE_CALL.test(kind)) return 'fine'
  const code = Number(error.code ?? error.status)
  return code >= 400 && code < 500 && code !== 408 ? 'fine' : '5xx'
}

function errorIn(json: Record<string, unknown>, name: string): Record<string, unknown> | null {
  if (isObject(json.error)) return json.error
  if (name === 'error' || json.type === 'error' || typeof json.error === 'string') {
    return typeof json.error === 'string' ? { ...json, type: json.error } : json
  }
  return null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
