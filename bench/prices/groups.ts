import { join } from 'node:path'
import { listingInGenaiPrices, namesInGenaiPrices, readGenaiPrices } from './genai-prices.ts'
import type { Listing, Skipped } from './listing.ts'
import { readLiteLlm } from './litellm.ts'
import { readModelsDev } from './models-dev.ts'
import type { Group } from './price-cases.ts'

/** Folders and files of the sources, unpacked. */
export interface SourceFiles {
  /** `model_prices_and_context_window_backup.json`. */
  readonly litellm: string
  /** `dist/providers/data` of the package. */
  readonly modelsDev: string
  /** genai-prices' `data.json`. */
  readonly genaiPrices: string
}

/** Every model of the merged sources, each with all that they say of it by that name. */
export function readGroups(files: SourceFiles, today: string, skipped: Skipped): Group[] {
  readGenaiPrices(files.genaiPrices)
  const listings = new Map<string, Listing[]>()
  const add = (listing: Listing) => {
    const key = keyOf(listing)
    const others = listings.get(key) ?? []
    // One name twice in one source (a kind of endpoint each): the first stands.
    if (!others.some(({ source }) => source === listing.source)) listings.set(key, [...others, listing])
  }
  for (const listing of readLiteLlm(files.litellm, skipped)) add(listing)
  for (const listing of readModelsDev(files.modelsDev)) add(listing)
  for (const { provider, model } of namesInGenaiPrices()) {
    if (!listings.has(keyOf({ provider, model }))) listings.set(keyOf({ provider, model }), [])
  }
  return [...listings].flatMap(([key, found]) => {
    const [provider, model] = splitKey(key)
    const spelled = found[0]?.model ?? model
    const own = listingInGenaiPrices(provider, spelled, today)
    const all = own === null ? found : [own, ...found]
    return all.length === 0 ? [] : [{ provider, model: spelled, listings: all }]
  })
}

type Named = Pick<Listing, 'provider' | 'model'>

function keyOf({ provider, model }: Named): string {
  return `${provider} ${model.toLowerCase()}`
}

function splitKey(key: string): [provider: Listing['provider'], model: string] {
  const at = key.indexOf(' ')
  return [key.slice(0, at) as Listing['provider'], key.slice(at + 1)]
}

/** The default place of models.dev's data in its package. */
export function modelsDevData(packageFolder: string): string {
  return join(packageFolder, 'dist', 'providers', 'data')
}
