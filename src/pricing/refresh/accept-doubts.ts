import { BUNDLED, bundledText } from '#prices/bundled-lists.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { acceptRows } from '../history/catalog-refresh.ts'
import { dayInSource, sha256Of } from '../sources/price-catalog-source.ts'
import { findCurrentPriceCatalog, putPriceCatalog } from './price-catalogs.ts'
import { dropPriceDoubts, type PriceDoubt, selectPriceDoubts } from './price-doubts.ts'
import { PRICE_KINDS } from './stored-prices.ts'
import { catalogOf } from './take-prices.ts'

/** What a person has accepted: `missing`: nothing of it waits; `unreadable`: its source wrote it wrong. */
export type Accepted =
  | { readonly kind: 'accepted'; readonly doubts: readonly PriceDoubt[]; readonly from: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly doubts: readonly PriceDoubt[] }
  | { readonly kind: 'overtaken' }

/** Puts the newer prices of what waits in force from the next day on; what `wanted` says of. */
export async function acceptDoubts(
  pool: Postgres,
  wanted: (doubt: PriceDoubt) => boolean,
  nowMs: number,
): Promise<Accepted> {
  const waiting = (await selectPriceDoubts(pool)).filter(wanted)
  const readable = waiting.filter(({ offered }) => offered !== null)
  if (readable.length === 0) {
    return waiting.length === 0 ? { kind: 'missing' } : { kind: 'unreadable', doubts: waiting }
  }
  let day = ''
  for (const kind of PRICE_KINDS) {
    const doubts = readable.filter((doubt) => doubt.kind === kind)
    const [first] = doubts
    if (first === undefined) continue
    const stored = await findCurrentPriceCatalog(pool, kind)
    const inForce =
      stored === null
        ? { text: bundledText(kind), knownSince: BUNDLED[kind].day }
        : { text: stored.text, knownSince: dayInSource(stored.source) }
    const { text, from } = acceptRows(inForce, doubts, nowMs)
    const taken = {
      nowMs: stored?.fetchedAt.getTime() ?? Date.parse(BUNDLED[kind].day),
      fetchedSha256: stored?.fetchedSha256 ?? sha256Of(text),
      origin: first.origin,
      dataDay: stored?.dataDay ?? BUNDLED[kind].day,
      from,
    }
    // Accepting a price does not make the rest of the data newer, so its day stays.
    const catalog = catalogOf(kind, text, taken)
    if (!(await putPriceCatalog(pool, catalog, stored?.source ?? null))) return { kind: 'overtaken' }
    await dropPriceDoubts(pool, doubts)
    day = from
  }
  return { kind: 'accepted', doubts: readable, from: day }
}

/** As JSON, the same on the command line and over HTTP. */
export function renderDoubt({ kind, provider, model, why, offered, origin, since }: PriceDoubt) {
  return {
    source: kind,
    provider,
    model,
    why,
    offered: offered?.prices ?? null,
    origin,
    since: since.toISOString(),
  }
}
