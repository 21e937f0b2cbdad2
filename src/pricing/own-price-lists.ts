import { setImmediate as nextTurn } from 'node:timers/promises'
import type { UtcDay } from '../domain/utc-day.ts'
import { findShownPrices, type ShownFrom, type ShownPrice, shownRates } from './shown-prices.ts'

/** Looking up goes on for so long in one turn of the event loop, which calls need as well. */
const SLICE_MS = 2
const MOST_CLIENTS = 1_000

/** A price as a client is shown it: not where the upstream is, nor what it costs before markups. */
export interface OwnPrice {
  readonly service_tier: string | null
  readonly hours: string | null
  readonly context: { readonly above: number; readonly up_to: number | null } | null
  readonly rates: readonly { readonly name: string; readonly usd: string; readonly per: string }[]
}

type OwnPrices = ReadonlyMap<string, readonly OwnPrice[]>

interface KeptList {
  readonly catalog: ShownFrom['catalog']
  readonly asked: string
  readonly prices: Promise<OwnPrices>
}

/** What models cost each client today. A list is worked out once for as long as prices, day and models are the same. */
export class OwnPriceLists {
  readonly #kept = new Map<string, KeptList>()

  /** By model. */
  find(from: ShownFrom, clientName: string, day: UtcDay, models: readonly string[]): Promise<OwnPrices> {
    const asked = `${day}\n${models.join('\n')}`
    const kept = this.#kept.get(clientName)
    if (kept?.catalog === from.catalog && kept.asked === asked) return kept.prices
    if (this.#kept.size >= MOST_CLIENTS) this.#kept.clear()
    const prices = findAll(from, clientName, day, models)
    this.#kept.set(clientName, { catalog: from.catalog, asked, prices })
    prices.catch(() => this.#kept.delete(clientName))
    return prices
  }
}

async function findAll(
  from: ShownFrom,
  clientName: string,
  day: UtcDay,
  models: readonly string[],
): Promise<OwnPrices> {
  const found = new Map<string, readonly OwnPrice[]>()
  let endMs = performance.now() + SLICE_MS
  for (const model of models) {
    const shown = findShownPrices(from, { model, provider: null, clientName, day, today: day })
    found.set(model, withoutRepeats(shown.map(renderOwn)))
    if (performance.now() < endMs) continue
    await nextTurn()
    endMs = performance.now() + SLICE_MS
  }
  return found
}

function renderOwn({ price }: ShownPrice): OwnPrice {
  const { serviceTier, hours, context } = price.definition
  return {
    service_tier: serviceTier,
    hours,
    context: context === null ? null : { above: context.above, up_to: context.upTo },
    rates: shownRates(price).map(({ name, unit, usd }) => ({ name, usd, per: unit })),
  }
}

function withoutRepeats<Item>(items: readonly Item[]): readonly Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}
