import { readAzureCatalog } from '#prices/azure/azure-catalog.ts'
import { BUNDLED, bundledText } from '#prices/bundled-lists.ts'
import { readLiteLlmCatalog } from '#prices/litellm/litellm-catalog.ts'
import { readModelsDevCatalog } from '#prices/models-dev-catalog.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import type { CatalogChange } from '../history/catalog-changes.ts'
import { type CatalogInForce, dataDayOfText, judgeRefresh } from '../history/catalog-refresh.ts'
import { type HeldRow, readCatalog } from '../history/read-rows.ts'
import { bundledEntries } from '../sources/catalog-bundle.ts'
import { catalogOfText } from '../sources/catalog-file.ts'
import {
  dayInSource,
  type PriceCatalogKind,
  priceCatalogSource,
  sha256Of,
} from '../sources/price-catalog-source.ts'
import {
  confirmPriceCatalog,
  findCurrentPriceCatalog,
  type PriceCatalog,
  putPriceCatalog,
  wasFetchedBefore,
} from './price-catalogs.ts'
import { putPriceDoubts } from './price-doubts.ts'
import { PRICE_KINDS } from './stored-prices.ts'

/** Price data to be put in force for all gateways. */
export interface OfferedPrices {
  readonly kind: PriceCatalogKind
  /** In its source's own form. */
  readonly text: string
  /** A URL, a path, or the package's name. */
  readonly origin: string
}

/** What would become of it. */
export interface Judged {
  readonly kind: PriceCatalogKind
  /** The source in force. */
  readonly before: string
  /** Why it may not be taken. */
  readonly problems: readonly string[]
  /** What speaks against all of it, so that only a person may take it. */
  readonly doubts: readonly string[]
  /** Models whose newer price only a person may take; the rest does not wait for them. */
  readonly held: readonly HeldRow[]
  readonly changes: readonly CatalogChange[]
  /** The first day of what it changes. */
  readonly from: UtcDay | null
  /** What would be put; `null`: it changes nothing, or may not be taken. */
  readonly catalog: PriceCatalog | null
  /** The source in Postgres, which it would take the place of; `null`: there is none. */
  readonly stored: string | null
}

const MS_PER_DAY = 86_400_000

/**
 * Judges price data against what is in force: in Postgres, else in this release.
 *
 * @param acceptAll A person has looked at it: no model's price is held.
 */
export async function judgePrices(
  pool: Postgres,
  { kind, text: written, origin }: OfferedPrices,
  nowMs: number,
  acceptAll = false,
): Promise<Judged> {
  const stored = await findCurrentPriceCatalog(pool, kind)
  const inForce: CatalogInForce =
    stored === null ? bundledInForce(kind) : { ...stored, knownSince: dayInSource(stored.source) }
  const before = { kind, before: stored?.source ?? BUNDLED[kind].source, stored: stored?.source ?? null }
  const others = await otherSources(pool, kind)
  const { text: offered, problems, unread } = readOffered(kind, written, others, inForce.text)
  const sinceMs = stored?.fetchedAt.getTime() ?? Date.parse(BUNDLED[kind].day)
  const judgement =
    offered === null
      ? { kind: 'unreadable' as const, problems }
      : judgeRefresh(inForce, offered, {
          nowMs,
          days: (nowMs - sinceMs) / MS_PER_DAY,
          others,
          acceptAll,
        })
  if (judgement.kind === 'unreadable' || offered === null) {
    const why = judgement.kind === 'unreadable' ? judgement.problems : problems
    return { ...before, problems: why, doubts: [], held: [], changes: [], from: null, catalog: null }
  }
  const { text, changes, from, dataDay, held } = judgement
  const fetchedSha256 = sha256Of(offered)
  const isKnown =
    text !== null &&
    stored?.fetchedSha256 !== fetchedSha256 &&
    (await wasFetchedBefore(pool, kind, fetchedSha256))
  const doubts = [...(isKnown ? ['it is older: it was in force before'] : []), ...judgement.doubts]
  const catalog =
    text === null ? null : catalogOf(kind, text, { nowMs, fetchedSha256, origin, dataDay, from })
  return { ...before, problems: [], doubts, held: [...unread, ...held], changes, from, catalog }
}

interface Taken {
  readonly nowMs: number
  readonly fetchedSha256: string
  readonly origin: string
  readonly dataDay: UtcDay | null
  readonly from: UtcDay
}

/** A text as it is put. */
export function catalogOf(
  kind: PriceCatalogKind,
  text: string,
  { nowMs, fetchedSha256, origin, dataDay, from }: Taken,
): PriceCatalog {
  return {
    source: priceCatalogSource(kind, utcDayOf(nowMs), text),
    kind,
    fetchedSha256,
    origin,
    dataDay,
    fetchedAt: new Date(nowMs),
    inForceFrom: from,
    text,
  }
}

interface ReadOffer {
  /** In the form of genai-prices' `data.json`; `null`: it cannot be read. */
  readonly text: string | null
  readonly problems: readonly string[]
  readonly unread: readonly HeldRow[]
}

/** Every list but genai-prices' is translated; what was translated before stays as it is. */
function readOffered(
  kind: PriceCatalogKind,
  text: string,
  others: readonly CatalogEntries[],
  inForce: string,
): ReadOffer {
  if (kind === 'azure') return { unread: [], ...readAzureCatalog(text, modelsOnAzure(others)) }
  if (kind === 'genai-prices' || text.trimStart().startsWith('[')) return { text, problems: [], unread: [] }
  if (kind === 'models.dev') {
    const read = readModelsDevCatalog(text, readCatalog(inForce).document)
    return { ...read, unread: read.unread.map((row) => ({ ...row, offered: null })) }
  }
  const { catalog, problems, unread } = readLiteLlmCatalog(text, { leaveOut: true })
  const held = unread.map(({ name, why }) => ({ provider: 'litellm', model: name, why, offered: null }))
  return { text: catalog?.text ?? null, problems, unread: held }
}

/** What the other sources say, as they are in force. */
async function otherSources(pool: Postgres, kind: PriceCatalogKind): Promise<readonly CatalogEntries[]> {
  const entries = PRICE_KINDS.filter((other) => other !== kind).map(async (other) => {
    const stored = await findCurrentPriceCatalog(pool, other)
    return stored === null ? bundledEntries(other) : catalogOfText(stored.source, stored.text)
  })
  return await Promise.all(entries)
}

/** Models that Azure may sell, by their names elsewhere. */
function modelsOnAzure(others: readonly CatalogEntries[]): readonly string[] {
  return others.flatMap(({ providers }) =>
    ['azure', 'openai'].flatMap((id) => providers.get(id)?.models.map((model) => model.id) ?? []),
  )
}

/** @returns `false`: something else was put since it was judged, and nothing is changed. */
export async function putJudged(pool: Postgres, { catalog, stored }: Judged): Promise<boolean> {
  return catalog === null || (await putPriceCatalog(pool, catalog, stored))
}

/**
 * Where the data of this release is newer than what is in Postgres, puts it there, with the old prices for the past. It was
 * reviewed with the release, so nothing of it is doubted.
 *
 * @returns What was put; `null`: nothing.
 */
export async function putNewerBundle(
  pool: Postgres,
  kind: PriceCatalogKind,
  nowMs: number,
): Promise<PriceCatalog | null> {
  const stored = await findCurrentPriceCatalog(pool, kind)
  if (stored === null || !isBundleNewer(kind, stored)) return null
  const offered = { kind, text: bundledText(kind), origin: BUNDLED[kind].source }
  const judged = await judgePrices(pool, offered, nowMs, true)
  if (judged.catalog === null) await confirmPriceCatalog(pool, stored.source, new Date(nowMs))
  if (!(await putJudged(pool, judged))) return null
  // What a host has not taken over of its maker waits all the same.
  await putPriceDoubts(pool, kind, judged.held, offered.origin)
  return judged.catalog
}

/** Whether the data that came with this release was published after that in Postgres was fetched. */
export function isBundleNewer(
  kind: PriceCatalogKind,
  { fetchedAt }: Pick<PriceCatalog, 'fetchedAt'>,
): boolean {
  return utcDayOf(fetchedAt.getTime()) < BUNDLED[kind].day
}

function bundledInForce(kind: PriceCatalogKind): CatalogInForce {
  const text = bundledText(kind)
  const { day } = BUNDLED[kind]
  return { text, dataDay: dataDayOfText(text, day), knownSince: day }
}
