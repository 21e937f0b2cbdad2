import type { RowDoubt } from './row-doubt.ts'

/** A name whose price changes. */
export interface PriceChange {
  readonly provider: string
  readonly model: string
  readonly name: string
  /** What it costs before and after, as one text each. */
  readonly past: string
  readonly now: string
  /** Its input after over before; not finite where one is unknown. */
  readonly times: number
  /** Whether two other sources say the same. */
  isConfirmed(): boolean
}

/** What a provider's names cost before: how many there are, and their prices as texts. */
interface KnownPrices {
  readonly names: number
  readonly texts: ReadonlySet<string>
}

/** Of fewer names most say little. */
const ENOUGH_NAMES = 8
/** In a year of genai-prices' lists one host changed three in four of its prices at once, by a quarter. */
const FAR_TOGETHER = 2

/**
 * Names whose newer prices are those of others, or in another currency or unit: a source has mixed up its lines, or its
 * columns.
 *
 * @param known By provider.
 * @param believed Providers that say what each call cost: there prices go up and down, and alike.
 */
export function mixedRows(
  changes: readonly PriceChange[],
  known: ReadonlyMap<string, KnownPrices>,
  believed: ReadonlySet<string>,
): readonly RowDoubt[] {
  const byProvider = Map.groupBy(changes, ({ provider }) => provider)
  const own = [...byProvider].filter(([provider]) => !believed.has(provider))
  return [
    ...exchangedRows(changes),
    ...own.flatMap(([, ofProvider]) => ringedRows(ofProvider)),
    ...own.flatMap(([provider, ofProvider]) => slippedRows(ofProvider, known.get(provider))),
  ]
}

/** Two models that have changed their prices with each other. */
function exchangedRows(changes: readonly PriceChange[]): readonly RowDoubt[] {
  const byChange = Map.groupBy(changes, ({ past, now }) => `${past}\n${now}`)
  return changes.flatMap((change) => {
    const { model, past, now } = change
    const other = byChange.get(`${now}\n${past}`)?.find((one) => one.model !== model)
    return other === undefined
      ? []
      : [doubtOf(change, `has the prices of ${other.provider}/${other.name}, which has its`)]
  })
}

/** Several of one provider, where following whose prices each has leads back to it. */
function ringedRows(changes: readonly PriceChange[]): readonly RowDoubt[] {
  const byPast = Map.groupBy(changes, ({ past }) => past)
  return changes.flatMap((change) => {
    const { past, now } = change
    const [other] = byPast.get(now) ?? []
    const seen = new Set<string>()
    const open = [now]
    for (let text = open.pop(); text !== undefined; text = open.pop()) {
      if (text === past)
        return other === undefined
          ? []
          : [doubtOf(change, `has the prices of ${other.name}, and another has its`)]
      if (seen.has(text)) continue
      seen.add(text)
      for (const next of byPast.get(text) ?? []) open.push(next.now)
    }
    return []
  })
}

/** Most of a provider's names, where they have the prices of others there, or all are so many times what they were. */
function slippedRows(
  changes: readonly PriceChange[],
  { names, texts }: KnownPrices = { names: 0, texts: new Set() },
): readonly RowDoubt[] {
  const isMost = (some: readonly PriceChange[]) => names >= ENOUGH_NAMES && some.length * 2 > names
  const doubtAll = (some: readonly PriceChange[], why: string) =>
    some.filter((change) => !change.isConfirmed()).map((change) => doubtOf(change, why))
  const slipped = changes.filter(({ now }) => texts.has(now))
  if (isMost(slipped))
    return doubtAll(slipped, `has the prices of another there, as ${slipped.length} of ${names} have`)
  const far = changes.filter(({ times }) => times > 0 && (times >= FAR_TOGETHER || times <= 1 / FAR_TOGETHER))
  const alike = [...Map.groupBy(far, ({ times }) => times.toPrecision(2))]
  const [times, together] = alike.find(([, some]) => isMost(some)) ?? ['', []]
  return doubtAll(together, `costs ${times} times what it did, as ${together.length} of ${names} do there`)
}

function doubtOf({ provider, model, name }: PriceChange, why: string): RowDoubt {
  return { provider, model, name, why }
}
