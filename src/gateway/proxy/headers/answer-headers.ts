import type { AnswerHeaders } from '#http-client/answer-handler.ts'
import type { AnswerRates } from '../../admission/rate-headers.ts'
import type { MapAddress } from '../own-addresses.ts'
import {
  ENDS_HERE,
  IS_ADDRESS,
  IS_CALL_ID,
  IS_CORS,
  IS_LENGTH,
  IS_ORIGIN_POLICY,
  meaningOf,
  namedByConnection,
  type RawHeaders,
} from './header-names.ts'

/** How an answer's head becomes the client's. */
export interface AnswerHeadOptions {
  /** The body may get shorter on its way. */
  readonly dropContentLength: boolean
  /** Stand in place of the upstream's of these names. */
  readonly rates: AnswerRates | null
  /** Gives what stands in place of an address of the upstream's own; absent: those stay. */
  readonly mapAddress?: MapAddress | undefined
  /** What the upstream says of web pages ends here. */
  readonly ownsOrigins: boolean
}

const AS_IT_IS: MapAddress = (address) => address
const ALLOW_ORIGIN = 'access-control-allow-origin'

/** The upstream's headers as they go to the client. */
export function forwardableResponseHeaders(headers: RawHeaders, options: AnswerHeadOptions): string[] {
  const { rates, ownsOrigins } = options
  const forwarded = forClient(headers, namedByConnection(headers), options)
  // Whether a page may read it depends on the page: a cache must not give it to another one.
  if (ownsOrigins) forwarded.push('vary', 'Origin')
  if (rates === null) return forwarded
  const isForBrowsers = forwarded.some((text, i) => i % 2 === 0 && text.toLowerCase() === ALLOW_ORIGIN)
  for (const name of Object.keys(rates)) forwarded.push(name, rates[name] ?? '')
  // A page sees only headers that an answer to it names. Several such lines are one list.
  if (isForBrowsers) forwarded.push('access-control-expose-headers', Object.keys(rates).join(', '))
  return forwarded
}

/** The upstream's trailers as they go to the client: without what is dropped of `headers`, those of the same answer. */
export function forwardableTrailers(
  trailers: AnswerHeaders | null,
  headers: RawHeaders,
  options: Omit<AnswerHeadOptions, 'dropContentLength' | 'mapAddress'>,
): [name: string, value: string][] {
  if (trailers === null) return []
  const raw = Object.entries(trailers).flatMap(([name, value]) => [name, String(value)])
  const forwarded = forClient(raw, namedByConnection(headers), { ...options, dropContentLength: true })
  return Array.from({ length: forwarded.length / 2 }, (_, i) => [
    forwarded[2 * i] ?? '',
    forwarded[2 * i + 1] ?? '',
  ])
}

function forClient(
  fields: RawHeaders,
  connectionNamed: ReadonlySet<string> | null,
  { dropContentLength, rates, mapAddress = AS_IT_IS, ownsOrigins }: AnswerHeadOptions,
): string[] {
  const dropped = ENDS_HERE | IS_CALL_ID | IS_ORIGIN_POLICY | (ownsOrigins ? IS_CORS : 0)
  const forwarded: string[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? ''
    const meaning = meaningOf(name)
    if ((meaning & dropped) !== 0) continue
    if ((meaning & IS_LENGTH) !== 0 && dropContentLength) continue
    if (connectionNamed?.has(name.toLowerCase()) === true) continue
    if (rates !== null && Object.hasOwn(rates, name.toLowerCase())) continue
    const value = fields[i + 1] ?? ''
    forwarded.push(name, (meaning & IS_ADDRESS) === 0 ? value : mapAddress(value))
  }
  return forwarded
}
