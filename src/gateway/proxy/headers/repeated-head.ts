import type { Socket } from 'node:net'
import { HeadFields, writeHeadFields } from '#http-client/request-head.ts'
import {
  ENDS_HERE,
  IS_IDEMPOTENCY_KEY,
  IS_LENGTH,
  IS_SUBPROTOCOL,
  meaningOf,
  NOT_UPSTREAM,
  namedByConnection,
  type RawHeaders,
  READS_VALUE,
} from './header-names.ts'
import { forwardableRequestHeaders, type HeaderOptions } from './headers.ts'

/** More, or longer, headers are not kept: a client may have many connections. */
const MAX_KEPT_HEADERS = 64
const MAX_KEPT_LENGTH = 8 * 1024

/** A client that puts something new into so many calls one after the other will go on doing so. */
const MAX_MISSES = 8

/** Drops the client's: what stands for it is written with the body. */
const NO_LENGTH = 0

/** The headers of one request, and what went upstream of them. */
interface KeptHead {
  readonly options: HeaderOptions
  readonly names: readonly string[]
  /** `null`: it makes no difference, as that of a credential, which is not kept. */
  readonly values: readonly (string | null)[]
  readonly fields: HeadFields
}

/** What is remembered of a connection. */
interface Memory {
  head: KeptHead | null
  /** Calls since the last one that had the headers of the one before. */
  misses: number
}

const memories = new WeakMap<Socket, Memory>()

/**
 * {@link forwardableRequestHeaders} of a request that is sent with its whole body, written. A client sends the same
 * headers with each call of a connection, but for the length; they are judged again when one of them is another.
 */
export function repeatedHeadFields(
  connection: Socket,
  rawHeaders: RawHeaders,
  options: HeaderOptions,
): HeadFields {
  // Each call has a span of its own, so its head is like no other.
  if (options.trace !== undefined)
    return writeHeadFields(forwardableRequestHeaders(rawHeaders, { ...options, contentLength: NO_LENGTH }))
  const memory = memoryOf(connection)
  const { head } = memory
  if (head !== null && hasOptions(head, options) && hasHeaders(head, rawHeaders)) {
    memory.misses = 0
    return head.fields
  }
  const all = { ...options, contentLength: NO_LENGTH }
  const fields = writeHeadFields(forwardableRequestHeaders(rawHeaders, all))
  memory.misses += 1
  memory.head = memory.misses > MAX_MISSES ? null : headToKeep(rawHeaders, options, fields)
  return fields
}

function memoryOf(connection: Socket): Memory {
  let memory = memories.get(connection)
  if (memory === undefined) {
    memory = { head: null, misses: 0 }
    memories.set(connection, memory)
  }
  return memory
}

function hasOptions({ options }: KeptHead, { host, credential, askIdentity, isPlain }: HeaderOptions) {
  return (
    options.credential === credential &&
    options.host === host &&
    options.askIdentity === askIdentity &&
    options.isPlain === isPlain
  )
}

function hasHeaders({ names, values }: KeptHead, rawHeaders: RawHeaders): boolean {
  if (rawHeaders.length !== 2 * names.length) return false
  for (let i = 0; i < names.length; i += 1) {
    if (rawHeaders[2 * i] !== names[i]) return false
    const value = values[i]
    if (value !== null && rawHeaders[2 * i + 1] !== value) return false
  }
  return true
}

/** `null`: it would take too much memory, or hold a client's key, or what is made of its idempotency key. */
function headToKeep(
  rawHeaders: RawHeaders,
  options: HeaderOptions,
  { host, others }: HeadFields,
): KeptHead | null {
  if (rawHeaders.length > 2 * MAX_KEPT_HEADERS || rawHeaders.length % 2 !== 0) return null
  const connectionNamed = namedByConnection(rawHeaders)
  const names: string[] = []
  const values: (string | null)[] = []
  let length = others.length
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const meaning = meaningOf(name)
    if ((meaning & (IS_SUBPROTOCOL | IS_IDEMPOTENCY_KEY)) !== 0) return null
    const isDropped = hasNoEffect(meaning) || connectionNamed?.has(name.toLowerCase()) === true
    const value = isDropped ? null : (rawHeaders[i + 1] ?? '')
    names.push(name)
    values.push(value)
    length += name.length + (value?.length ?? 0)
  }
  if (length > MAX_KEPT_LENGTH) return null
  return { options, names, values, fields: new HeadFields(host, flat(others)) }
}

/** Whether a header is left out whatever its value is, and says nothing of others. */
function hasNoEffect(meaning: number): boolean {
  return (meaning & (ENDS_HERE | NOT_UPSTREAM | IS_LENGTH)) !== 0 && (meaning & READS_VALUE) === 0
}

/** A text put together of pieces is copied piece by piece each time it is written. */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
