import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'

/** An event on its way, and the key that its order is kept by. */
export interface KeyedEvent {
  readonly key: string
  /** JSON, in one line. */
  readonly event: string
}

/** A row of the outbox. */
export interface OutboxPage {
  readonly events: number
  /** What `unpackPage` reads. */
  readonly body: Buffer
}

/** More would make a page that takes long to send, fewer would compress worse. */
export const EVENTS_A_PAGE = 1_000

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
/** The fastest: events are alike, so more effort gains little. */
const FASTEST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Events as pages, in their order. Compressed they take a fifth to a tenth, on a thread of zlib's. */
export async function packPages(events: readonly KeyedEvent[]): Promise<OutboxPage[]> {
  const pages: OutboxPage[] = []
  for (let from = 0; from < events.length; from += EVENTS_A_PAGE) {
    const some = events.slice(from, from + EVENTS_A_PAGE)
    let text = ''
    // Neither is in JSON as it stands: a key and its event end where they seem to.
    for (const { key, event } of some) text += `${JSON.stringify(key)}\t${event}\n`
    pages.push({ events: some.length, body: await compress(text, FASTEST) })
  }
  return pages
}

/** @throws When the page is not one of `packPages`. */
export async function unpackPage(body: Buffer): Promise<KeyedEvent[]> {
  const text = (await decompress(body)).toString()
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const tab = line.indexOf('\t')
      return { key: String(JSON.parse(line.slice(0, tab))), event: line.slice(tab + 1) }
    })
}
