import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { bundledEntries, bundledText } from './catalog-bundle.ts'
import { correctionProviders } from './catalog-corrections.ts'
import { parseCatalog } from './catalog-parse.ts'

/** What the data that `prices import` took is called, before its hash. */
export const IMPORTED = 'litellm'

/** What is known of the bundled list of models.dev beside its prices; `scripts/models-dev.ts` writes it. */
export interface BundledList {
  readonly source: string
  readonly sha256: string
  readonly providers: readonly unknown[]
}

/** As it is in the repository. */
export function readModelsDev(): BundledList {
  return createRequire(import.meta.url)('./data/models-dev.json')
}

/** A source that is asked beside the first, and the data it was parsed from. */
interface Layer {
  readonly entries: CatalogEntries
  readonly providers: readonly unknown[]
}

let corrections: Layer | null = null
let modelsDev: Layer | null = null

function correctionsLayer(): Layer {
  corrections ??= parseLayer(`corrections@${hashOf(correctionProviders())}`, correctionProviders())
  return corrections
}

function modelsDevLayer(): Layer {
  const { source, providers } = readModelsDev()
  modelsDev ??= parseLayer(source, providers)
  return modelsDev
}

/**
 * The price data of all sources, in this order: our corrections, `first` (genai-prices, bundled or newer), models.dev
 * as bundled, and what the operator imported. Its name has all of theirs.
 *
 * @param imported `null`: nothing.
 * @throws {Error} when bundled data is not as documented.
 */
export function mergeSources(first: CatalogEntries, imported: CatalogEntries | null = null): CatalogEntries {
  const layers = [
    correctionsLayer().entries,
    first,
    modelsDevLayer().entries,
    ...(imported === null ? [] : [imported]),
  ]
  return { source: layers.map(({ source }) => source).join('+'), providers: first.providers, layers }
}

let bundled: CatalogEntries | null = null

/** The data that came with this release, merged. */
export function bundledCatalog(): CatalogEntries {
  bundled ??= mergeSources(bundledEntries())
  return bundled
}

/** The same as text, from which it can be read again by any release; see {@link readMergedText}. */
export function mergedText(
  first: { readonly source: string; readonly text: string } = {
    source: bundledEntries().source,
    text: bundledText(),
  },
  imported: { readonly source: string; readonly text: string } | null = null,
): string {
  const data = ({ source, text }: { source: string; text: string }) => ({
    source,
    providers: JSON.parse(text),
  })
  return JSON.stringify({
    layers: [
      { source: correctionsLayer().entries.source, providers: correctionsLayer().providers },
      data(first),
      { source: modelsDevLayer().entries.source, providers: modelsDevLayer().providers },
      ...(imported === null ? [] : [data(imported)]),
    ],
  })
}

/**
 * Reads {@link mergedText} again, its sources as they were then, whatever this release bundles.
 *
 * @param value The text, parsed. `entries` is `null` where it is not such a text, with the problems.
 */
export function readMergedText(value: unknown): {
  readonly entries: CatalogEntries | null
  readonly problems: readonly string[]
} {
  const listed: unknown =
    typeof value === 'object' && value !== null && 'layers' in value ? value.layers : null
  const problems: string[] = []
  const layers = (Array.isArray(listed) ? listed : []).flatMap(
    (layer: { source?: unknown; providers?: unknown }) => {
      const source = typeof layer?.source === 'string' ? layer.source : '(unnamed)'
      const parsed = parseCatalog(layer?.providers, source)
      problems.push(...parsed.problems.map((problem) => `${source}: ${problem}`))
      return parsed.entries ?? []
    },
  )
  const first = layers.find(({ source }) => !source.startsWith('corrections@'))
  if (first === undefined && problems.length === 0) problems.push('catalog: is not merged price data')
  if (first === undefined || problems.length > 0) return { entries: null, problems }
  const source = layers.map((layer) => layer.source).join('+')
  return { entries: { source, providers: first.providers, layers }, problems }
}

function parseLayer(source: string, providers: readonly unknown[]): Layer {
  const { entries, problems } = parseCatalog(providers, source)
  if (entries === null) throw new Error(`${source} cannot be read: ${problems.join('; ')}`)
  return { entries, providers }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
}
