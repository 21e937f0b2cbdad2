import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** What a request for price data brought. */
export type FetchedPrices =
  | { readonly kind: 'fetched'; readonly text: string; readonly etag: string | null }
  /** As it was when it had the `etag` that was sent. */
  | { readonly kind: 'unmodified' }
  /** An answer that is not price data, now or in a minute. */
  | { readonly kind: 'refused'; readonly problem: string }
  /** No whole answer: it may come the next time. */
  | { readonly kind: 'unreachable'; readonly problem: string }

export interface FetchLimits {
  /** For all of it, however slowly it comes. */
  readonly totalMs: number
  /** Of the text, decompressed. */
  readonly maxBytes: number
}

/** The largest known version has 0.5 MiB. */
export const FETCH_LIMITS: FetchLimits = { totalMs: 60_000, maxBytes: 32 * 1024 * 1024 }

const CONNECT_MS = 10_000
/** Where these come from, an answer may come the next time. */
const PASSING_STATUSES: readonly number[] = [408, 425, 429]

/**
 * Fetches the text behind a URL, from there and from nowhere else: a redirect is not followed. Through the proxy that
 * HTTPS_PROXY names, where it is set. Never throws.
 *
 * @param etag What the server called the data that is there already; `null`: there is none.
 */
export async function fetchPrices(
  url: string,
  etag: string | null,
  limits: FetchLimits = FETCH_LIMITS,
): Promise<FetchedPrices> {
  const { EnvHttpProxyAgent, request } = await import('undici') // once a day: 14 MB that most programs never need
  const agent = new EnvHttpProxyAgent({ connect: { timeout: CONNECT_MS } })
  const signal = AbortSignal.timeout(limits.totalMs)
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      signal,
      headersTimeout: limits.totalMs,
      bodyTimeout: limits.totalMs,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'gzip',
        ...(etag === null ? {} : { 'if-none-match': etag }),
      },
    })
    // A body that is not read is ended with its connection.
    body.on('error', () => {})
    // Only where it was asked for: else it is unknown what has not changed.
    if (statusCode === 304 && etag !== null) return { kind: 'unmodified' }
    if (statusCode !== 200) return rejectedFetch(statusCode, headers.location)
    const text = await readText(body, headers['content-encoding'], limits.maxBytes)
    return typeof text === 'string'
      ? { kind: 'fetched', text, etag: typeof headers.etag === 'string' ? headers.etag : null }
      : { kind: 'refused', problem: text.problem }
  } catch (error) {
    const seconds = limits.totalMs / 1000
    return {
      kind: 'unreachable',
      problem: signal.aborted ? `it did not come whole within ${seconds} s` : failureOf(error),
    }
  } finally {
    await agent.destroy()
  }
}

function rejectedFetch(status: number, location: string | string[] | undefined): FetchedPrices {
  if (status >= 500 || PASSING_STATUSES.includes(status)) {
    return { kind: 'unreachable', problem: `it was answered with ${status}` }
  }
  const elsewhere =
    location === undefined ? '' : ` to ${String(location).slice(0, 200)}, which is not followed`
  return { kind: 'refused', problem: `it was answered with ${status}${elsewhere}` }
}

async function readText(
  body: Readable,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<string | { readonly problem: string }> {
  const isGzip = encoding === 'gzip' || encoding === 'x-gzip'
  if (!isGzip && encoding !== undefined && encoding !== 'identity') {
    return { problem: `it is coded as ${String(encoding).slice(0, 40)}, which was not asked for` }
  }
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of (isGzip ? unzip(body) : body) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) return { problem: `it is longer than ${maxBytes} bytes` }
      chunks.push(chunk)
    }
  } finally {
    body.destroy()
  }
  return Buffer.concat(chunks).toString()
}

/** Decompresses as it is read, so that no more is made than is looked at. */
function unzip(body: Readable): Readable {
  const gunzip = createGunzip()
  body.on('error', (error) => gunzip.destroy(error))
  return body.pipe(gunzip)
}

/** With the reason of the connection, where there is one: `fetch failed` says nothing. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return [message || code || error.name, ...(cause instanceof Error ? [cause.message] : [])].join(': ')
}
