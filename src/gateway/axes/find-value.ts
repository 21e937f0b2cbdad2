import type { AxisConfig } from '../../config/yaml/axes.ts'
import type { AxisSource } from '../../config/yaml/axis-presets.ts'
import { percentDecoded } from '../../domain/canonical-path.ts'
import { idText, parseExactly } from '../../domain/claims.ts'
import { ObjectWalk } from '../../providers/wires/object-walk.ts'
import type { Admission } from '../admission/admission.ts'
import { memberName } from '../bodies/scanned-values.ts'
import { cleanValue } from './clean-value.ts'

/** What of a call says its values. */
interface Call {
  readonly request: Pick<Admission['request'], 'headers'>
  readonly body: Pick<Admission['body'], 'plain' | 'scan'>
  readonly caller: Pick<Admission['caller'], 'keyId' | 'clientName' | 'claimed'>
}

/** The call's value on an axis, as it is kept; `null`: it has none. */
export function findValue({ from, hash }: AxisConfig, call: Call, pepper: string): string | null {
  for (const source of from) {
    if (source.kind === 'claim') {
      const claimed = call.caller.claimed?.get(source)
      if (claimed !== undefined) return claimed
      continue
    }
    const said = saidBy(source, call)
    const value = said === null ? null : cleanValue(said, hash ? pepper : null)
    if (value !== null) return value
  }
  return null
}

function saidBy(
  source: Exclude<AxisSource, { readonly kind: 'claim' }>,
  { request, body, caller }: Call,
): string | null {
  switch (source.kind) {
    case 'header':
      return memberOf(headerText(request.headers[source.name]), source.member)
    case 'baggage':
      return inBaggage(headerText(request.headers.baggage), source.name)
    case 'body': {
      const { plain, scan } = body
      const [top = ''] = source.path
      const place = scan?.members.get(top)
      if (plain === null || place === undefined) return null
      return memberOf(valueAt(plain, place, source.path.slice(1)), source.member)
    }
    case 'key':
      return source.values.get(caller.keyId) ?? null
    case 'client':
      return source.values.get(caller.clientName) ?? null
    default:
      return source satisfies never
  }
}

/** Headers come as latin-1; what is UTF-8 in them is read as such. */
function headerText(value: string | readonly string[] | undefined): string | null {
  if (typeof value !== 'string') return null
  if (!/[\x80-\xff]/.test(value)) return value
  const text = Buffer.from(value, 'latin1').toString('utf8')
  return text.includes('\ufffd') ? value : text
}

function inBaggage(header: string | null, name: string): string | null {
  if (header === null) return null
  for (const entry of header.split(',')) {
    const [pair = ''] = entry.split(';', 1)
    const at = pair.indexOf('=')
    if (at === -1 || pair.slice(0, at).trim() !== name) continue
    const value = pair.slice(at + 1).trim()
    return percentDecoded(value) ?? value
  }
  return null
}

/** Longer objects are not looked into. */
const MAX_OBJECT_BYTES = 16 * 1024
const MAX_MEMBERS = 1_000

/** The text or number at the end of the path, from the value that stands there in the body. */
function valueAt(
  body: Buffer,
  [start, end]: readonly [start: number, end: number],
  path: readonly string[],
): string | null {
  if (end - start > MAX_OBJECT_BYTES) return null
  const [name, ...rest] = path
  if (name === undefined) return scalarAt(body, start, end)
  let place: readonly [number, number] | null = null
  const walk = new ObjectWalk(start, MAX_MEMBERS, (keyStart, keyEnd, valueStart, valueEnd) => {
    if (memberName(body, keyStart, keyEnd) === name) place = [valueStart, valueEnd]
  })
  walk.advance(body.subarray(0, end))
  return place === null ? null : valueAt(body, place, rest)
}

function scalarAt(body: Buffer, start: number, end: number): string | null {
  const first = body[start] ?? 0
  const isText = first === 0x22
  if (!isText && first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return null
  const written = body.toString('utf8', start, end)
  if (!isText) return written
  try {
    const text: unknown = JSON.parse(written)
    return typeof text === 'string' ? text : null
  } catch {
    return null
  }
}

/** Claude Code's `metadata.user_id` before it was JSON. */
const CLAUDE_CODE = /^user_([0-9a-f]+)_account_([0-9a-f-]*)_session_([0-9a-f-]+)$/

/** The member of JSON text; the text itself where `member` is null. */
function memberOf(text: string | null, member: string | null): string | null {
  if (text === null || member === null) return text
  const [, device, account, session] = CLAUDE_CODE.exec(text) ?? []
  if (device !== undefined)
    return { device_id: device, account_uuid: account, session_id: session }[member] ?? null
  if (!text.startsWith('{') || text.length > MAX_OBJECT_BYTES) return null
  try {
    return idText(Object.getOwnPropertyDescriptor(parseExactly(text), member)?.value)
  } catch {
    return null
  }
}
