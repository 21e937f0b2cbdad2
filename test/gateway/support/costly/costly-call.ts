import type { UnpricedReason } from '../../../../src/call/unpriced-reason.ts'
import type { Provider } from '../../../../src/providers/registry.ts'

/** One request to an endpoint that costs money, and what the provider answers. */
export interface CostlyCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Sent as JSON; absent: no body. */
  readonly body?: Readonly<Record<string, unknown>>
  /** Absent: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object goes as JSON; lines and bytes as they are. */
  readonly answer: object | string | Buffer
  /** It is only made for what follows. */
  readonly isFree?: true
}

/** An endpoint, from the request that orders the work to the answer that tells what it used. */
export interface CostlyEndpoint {
  readonly name: string
  readonly provider: Provider
  /** One after the other, by one client. */
  readonly calls: readonly CostlyCall[]
  /**
   * What the provider's invoice says of all the calls together, in US dollars, with the arithmetic beside it.
   * Else why it cannot be known, as any of these values of `calls.unpriced_reason`, or that by default no
   * such call passes.
   */
  readonly truth:
    | { readonly usd: string }
    /** Not all of it can be known: what can, and the call says that there is more. */
    | { readonly partlyUsd: string }
    | { readonly unpriced: readonly UnpricedReason[] }
    | { readonly refused: number }
}

/** Sound, pictures and film, which are not read. */
export const MEDIA = Buffer.alloc(2_000, 0xff)
export const AUDIO = { 'content-type': 'audio/mpeg' }
