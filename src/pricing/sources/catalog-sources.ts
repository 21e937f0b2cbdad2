import { createHash } from 'node:crypto'
import { type BundledKind, bundledText } from '#prices/bundled-lists.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { bundledEntries } from './catalog-bundle.ts'
import { correctionProviders, isAzures, isCorrections } from './catalog-corrections.ts'
import { parseCatalog } from './catalog-parse.ts'
import { dayInSource } from './price-catalog-source.ts'

/** The data of one source, and the text that it can be read from again. */
export interface SourceData {
  readonly entries: CatalogEntries
  /** Rendered, or read from a file, at each call. */
  readonly text: () => string
}

/** What may be newer than this release; left out: as it came with it. */
export interface NewerSources {
  readonly 'genai-prices'?: SourceData | null
  readonly 'models.dev'?: SourceData | null
  readonly litellm?: SourceData | null
  readonly azure?: SourceData | null
}

let corrections: SourceData | null = null

function correctionsData(): SourceData {
  const providers = correctionProviders()
  corrections ??= {
    entries: parseLayer(`corrections@${hashOf(providers)}`, providers),
    text: () => JSON.stringify(correctionProviders()),
  }
  return corrections
}

function bundledData(kind: BundledKind): SourceData {
  return { entries: bundledEntries(kind), text: () => bundledText(kind) }
}

/** In the order in which they are asked. */
function sourcesWith(newer: NewerSources): readonly SourceData[] {
  const { azure = null } = newer
  const dataOf = (kind: 'genai-prices' | 'models.dev' | 'litellm') => newer[kind] ?? bundledData(kind)
  return [
    correctionsData(),
    ...(azure === null ? [] : [azure]),
    dataOf('genai-prices'),
    dataOf('models.dev'),
    dataOf('litellm'),
  ]
}

/**
 * The price data of all sources, in this order: our corrections, Azure's own list where it was fetched, genai-prices,
 * models.dev, LiteLLM's list. Its name has all of theirs.
 *
 * @throws {Error} when bundled data is not as documented.
 */
export function mergeSources(newer: NewerSources = {}): CatalogEntries {
  const layers = sourcesWith(newer).map(({ entries }) => entries)
  const source = layers.map((layer) => layer.source).join('+')
  return { source, providers: layers.find(isFirst)?.providers ?? new Map(), layers }
}

/** Whether it is of the first source that lists every provider. */
function isFirst(layer: CatalogEntries): boolean {
  return !isCorrections(layer) && !isAzures(layer)
}

let bundled: CatalogEntries | null = null

/** The data that came with this release, merged. */
export function bundledCatalog(): CatalogEntries {
  bundled ??= mergeSources()
  return bundled
}

/** The same as text, from which it can be read again by any release; see {@link readMergedText}. */
export function mergedText(newer: NewerSources = {}): string {
  return JSON.stringify({
    layers: sourcesWith(newer).map(({ entries: { source, knownSince }, text }) => ({
      source,
      ...(knownSince === undefined ? {} : { known_since: knownSince }),
      providers: JSON.parse(text()),
    })),
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
    (layer: { source?: unknown; known_since?: unknown; providers?: unknown }) => {
      const source = typeof layer?.source === 'string' ? layer.source : '(unnamed)'
      const known = typeof layer?.known_since === 'string' ? layer.known_since : dayInSource(source)
      const parsed = parseCatalog(layer?.providers, source, known)
      problems.push(...parsed.problems.map((problem) => `${source}: ${problem}`))
      return parsed.entries ?? []
    },
  )
  const first = layers.find(isFirst)
  if (first === undefined && problems.length === 0) problems.push('catalog: is not merged price data')
  if (first === undefined || problems.length > 0) return { entries: null, problems }
  const source = layers.map((layer) => layer.source).join('+')
  return { entries: { source, providers: first.providers, layers }, problems }
}

function parseLayer(source: string, providers: readonly unknown[]): CatalogEntries {
  const { entries, problems } = parseCatalog(providers, source)
  if (entries === null) throw new Error(`${source} cannot be read: ${problems.join('; ')}`)
  return entries
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
}
