import type { IncomingMessage } from 'node:http'
import type { AnswerHandler } from '#http-client/answer-handler.ts'
import { parsedJson } from '../../domain/json.ts'
import { compilePathPatterns } from '../../domain/path-patterns.ts'
import { ListedAnswer } from '../../objects/lists/listed-answer.ts'
import { entryOf, type Provider } from '../../providers/registry.ts'
import type { Upstream } from '../routing/upstream-table.ts'

/** Gives an upstream's own address as the client reaches it by the gateway; any other text stays. */
export type MapAddress = (address: string) => string

const AUTHORITY = /^https?:\/\/[^/?#\\]*/i
const HOST = /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:.]+\](?::\d{1,5})?$/i

/**
 * The address of the gateway in place of the upstream's. A client library that follows one of the upstream's would send
 * its gateway key to a third party, and what it does there would be neither metered nor its own.
 *
 * @param admitUpload adds to the target of an upload what admits its bytes, which come without a key.
 */
export function addressMapper(
  upstream: Upstream,
  request: IncomingMessage,
  admitUpload: MapAddress = (target) => target,
): MapAddress {
  return (address) => {
    const rest = pathAtUpstream(address, upstream)
    if (rest === null) return address
    const base = upstream.publicUrl ?? addressedAs(request, upstream.mountedAt)
    return base === null ? address : base + admitUpload((upstream.pathPrefix ?? '') + rest)
  }
}

/** What follows the upstream's address in `address`; `null`: it is another's, or none that a call could reach. */
function pathAtUpstream(address: string, { host, basePath }: Upstream): string | null {
  const authority = AUTHORITY.exec(address)?.[0]
  if (authority === undefined || authority.includes('@') || !URL.canParse(authority)) return null
  // Behind a proxy that ends TLS, a server may take itself for one without.
  if (new URL(authority).host !== host) return null
  const path = address.slice(authority.length)
  const rest = path.slice(basePath.length)
  return path.startsWith(basePath) && (rest === '' || /^[/?#]/.test(rest)) ? rest : null
}

/** As the client wrote it; a proxy in front tells by `x-forwarded-proto` whether that was with TLS. */
function addressedAs({ headers, socket }: IncomingMessage, mountedAt: string): string | null {
  const { host } = headers
  if (host === undefined || !HOST.test(host)) return null
  const forwarded = String(headers['x-forwarded-proto'] ?? '')
    .split(',')[0]
    ?.trim()
    .toLowerCase()
  const isTls =
    forwarded === 'https' || (forwarded !== 'http' && 'encrypted' in socket && socket.encrypted === true)
  return `${isTls ? 'https' : 'http'}://${host}${mountedAt}`
}

/** `handler`, or one that holds a small JSON document and maps the addresses under `names` in it. */
export function mapMembers(
  handler: AnswerHandler,
  names: readonly string[] | null,
  map: MapAddress,
  hasBody: boolean,
): AnswerHandler {
  if (names === null) return handler
  return new ListedAnswer(handler, async (body) => mapInJson(body, names, map), hasBody)
}

/** Every other byte stays. In JSON, a quote inside of a string has a backslash before it: what matches is a member. */
function mapInJson(body: Buffer, names: readonly string[], map: MapAddress): Buffer {
  const text = body.toString('latin1')
  const members = new RegExp(`("(?:${names.join('|')})"\\s*:\\s*)("(?:[^"\\\\]|\\\\.)*")`, 'g')
  const mapped = text.replace(members, (whole, key: string, value: string) => {
    const address = parsedJson(value)
    const found = typeof address === 'string' ? map(address) : null
    return found === null || found === address ? whole : key + JSON.stringify(found)
  })
  return mapped === text ? body : Buffer.from(mapped, 'latin1')
}

type FindNames = (method: string, path: string) => readonly string[] | null

const finders = new Map<Provider, FindNames>()

/** The members of such a call's answer that hold an address of the provider's own; `null`: none. `path` is canonical. */
export function findAddressMembers(
  provider: Provider,
  method: string,
  path: string,
): readonly string[] | null {
  let find = finders.get(provider)
  if (find === undefined) {
    find = finderOf(provider)
    finders.set(provider, find)
  }
  return find(method, path)
}

function finderOf(provider: Provider): FindNames {
  const groups = entryOf(provider).ownAddresses?.members ?? []
  const namesOf = new Map(groups.flatMap(({ patterns, names }) => patterns.map((text) => [text, names])))
  const match = compilePathPatterns([...namesOf.keys()])
  return (method, path) => {
    const pattern = match(method, path)
    return pattern === null ? null : (namesOf.get(pattern) ?? null)
  }
}
