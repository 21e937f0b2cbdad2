import { type PriceDoubt, selectPriceDoubts } from '../../pricing/refresh/price-doubts.ts'
import {
  AGED_DAYS,
  ageInDays,
  OLD_DAYS,
  type PriceState,
  readPriceState,
} from '../../pricing/refresh/price-state.ts'
import { PRICE_KINDS } from '../../pricing/refresh/stored-prices.ts'
import { PRICE_URLS, type PriceCatalogKind } from '../../pricing/sources/price-catalog-source.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { type Finding, failure, ok, warning } from '../finding.ts'

const NAMES: Readonly<Record<PriceCatalogKind, string>> = {
  'genai-prices': 'price data',
  litellm: 'litellm prices',
  azure: 'azure prices',
}

/** Checks how old the prices are, whether newer ones were refused, and what waits for a person. */
export async function checkPriceData(pool: Postgres, nowMs = Date.now()): Promise<readonly Finding[]> {
  const states = await Promise.all(PRICE_KINDS.map((kind) => checkSource(pool, kind, nowMs)))
  return [...states.flat(), ...checkDoubts(await selectPriceDoubts(pool))]
}

async function checkSource(
  pool: Postgres,
  kind: PriceCatalogKind,
  nowMs: number,
): Promise<readonly Finding[]> {
  const state = await readPriceState(pool, kind)
  // No release has Azure's own prices, and without them its models have those of other lists.
  const isMissed = kind === 'azure' && state.isBundled && state.last?.outcome !== 'refused'
  return isMissed ? [] : [checkState(kind, state, nowMs)]
}

function checkState(kind: PriceCatalogKind, state: PriceState, nowMs: number): Finding {
  const name = NAMES[kind]
  const variable = PRICE_URLS[kind]
  const { last, freshAt } = state
  const source = state.isBundled ? `${state.source}, of this release` : state.source
  if (last?.outcome === 'refused') {
    return warning(
      name,
      `${source} stands; what was fetched on ${dayOf(last.attemptedAt)} was not taken: ${last.problem}`,
      `see tallygate prices diff; if it is right, tallygate prices update --force; else see ${last.url}`,
    )
  }
  const days = ageInDays(state, nowMs)
  const age = `last fresh on ${dayOf(freshAt)}, ${days} days ago`
  if (days >= AGED_DAYS) {
    const why =
      last === null ? 'newer ones were never asked for' : (last.problem ?? 'nothing was asked since')
    // One list may be left unfetched by choice.
    const isOld = days >= OLD_DAYS && (kind === 'genai-prices' || last !== null)
    const finding = isOld ? failure : warning
    return finding(
      name,
      `${isOld ? 'calls are priced by OLD DATA: ' : ''}${source}, ${age}: ${why}`,
      `let the workers reach ${variable}, or set it to a copy${BY_HAND[kind]}`,
    )
  }
  if (last === null) return ok(name, `${source}; newer ones were never asked for`)
  const when = last.outcome === 'unreachable' ? age : `fresh on ${dayOf(last.attemptedAt)}`
  return ok(name, `${source}, ${when}`)
}

const BY_HAND: Readonly<Record<PriceCatalogKind, string>> = {
  'genai-prices': ', or take data by hand: prices update FILE',
  litellm: ', or take data by hand: prices import FILE',
  azure: '',
}

const SHOWN = 3

function checkDoubts(doubts: readonly PriceDoubt[]): readonly Finding[] {
  const [first] = doubts
  if (first === undefined) return []
  const shown = doubts.slice(0, SHOWN).map(({ provider, model, why }) => `${provider}/${model}: ${why}`)
  const more = doubts.length > SHOWN ? [`and ${doubts.length - SHOWN} more: prices doubts`] : []
  return [
    warning(
      'price doubts',
      `newer prices of ${doubts.length} models are doubted, and their old ones stand: ${[...shown, ...more].join('; ')}`,
      `if they are right, tallygate prices accept ${first.provider}/${first.model}, or --all`,
    ),
  ]
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10)
}
