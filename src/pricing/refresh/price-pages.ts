import { z } from 'zod'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'
import { FETCH_LIMITS, type FetchedPrices, type FetchLimits, fetchPrices } from './fetch-prices.ts'

const pageShape = z.looseObject({ Items: z.array(z.unknown()), NextPageLink: z.string().nullish() })

/** A page has 1,000 rows at most, and the regions that are asked for have some 5,000. */
const MOST_PAGES = 100
const MOST_ROWS = 100_000

/** How the data of a kind is fetched. */
export function fetchOf(kind: PriceCatalogKind): typeof fetchPrices {
  return kind === 'azure' ? fetchPricePages : fetchPrices
}

/**
 * Fetches pages that each name the next, from one host, and gives the `Items` of all as one object. All or nothing: of half
 * a list the rest would look gone. Never throws.
 */
export async function fetchPricePages(
  url: string,
  etag: string | null,
  limits: FetchLimits = FETCH_LIMITS,
): Promise<FetchedPrices> {
  const items: unknown[] = []
  const end = Date.now() + limits.totalMs
  let bytes = 0
  let next: string | null = url
  for (let page = 0; next !== null; page += 1) {
    if (page === MOST_PAGES) return { kind: 'refused', problem: `it has more than ${MOST_PAGES} pages` }
    const totalMs = end - Date.now()
    if (totalMs <= 0) {
      return { kind: 'unreachable', problem: `it did not come whole within ${limits.totalMs / 1000} s` }
    }
    const fetched = await fetchPrices(next, page === 0 ? etag : null, { ...limits, totalMs })
    if (fetched.kind !== 'fetched') return fetched
    bytes += Buffer.byteLength(fetched.text)
    if (bytes > limits.maxBytes) {
      return { kind: 'refused', problem: `it is longer than ${limits.maxBytes} bytes` }
    }
    const read = parsePage(fetched.text)
    if (read === null) return { kind: 'refused', problem: 'a page is not one of a price list' }
    if (items.length + read.Items.length > MOST_ROWS) {
      return { kind: 'refused', problem: `it has more than ${MOST_ROWS} rows` }
    }
    items.push(...read.Items)
    next = read.NextPageLink ?? null
    if (next !== null && !isSameHost(url, next)) {
      return { kind: 'refused', problem: `its next page is elsewhere: ${next.slice(0, 200)}` }
    }
  }
  const text = textOf(items)
  return text === null
    ? { kind: 'refused', problem: 'a row is nested without end' }
    : { kind: 'fetched', text, etag: null }
}

/** `null`: what can be read of JSON cannot always be written. */
function textOf(items: readonly unknown[]): string | null {
  try {
    return JSON.stringify({ Items: items })
  } catch {
    return null
  }
}

function parsePage(text: string): z.infer<typeof pageShape> | null {
  try {
    return pageShape.parse(JSON.parse(text))
  } catch {
    return null
  }
}

function isSameHost(url: string, next: string): boolean {
  return URL.canParse(next) && new URL(next).origin === new URL(url).origin
}
