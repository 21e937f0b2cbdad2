import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** A source whose data came with this release; `npm run prices:bundle` writes what is known of it. */
export interface BundledList {
  /** Names the data and its version, e.g. `genai-prices@0.2.3`. */
  readonly source: string
  /** The day of the newest price in it, or of the list itself: data that was fetched on an earlier day is older. */
  readonly day: string
  readonly providers: readonly string[]
  /** The hash of its file; hexadecimal. */
  readonly sha256: string
}

export type BundledKind = 'genai-prices' | 'models.dev' | 'litellm' | 'azure'

type WithData = Exclude<BundledKind, 'azure'>

const IN_BUNDLE: Readonly<Record<WithData, BundledList>> = createRequire(import.meta.url)(
  '../data/bundle.json',
)

/** Azure's own list comes by a refresh alone: it may be fetched by anyone, and no registry has it. */
export const BUNDLED: Readonly<Record<BundledKind, BundledList>> = {
  ...IN_BUNDLE,
  azure: { source: 'azure@none', day: '2026-01-01', providers: [], sha256: '' },
}
const NO_AZURE = '[{"id":"azure","models":[]}]'

const FILES: Readonly<Record<WithData, URL>> = {
  'genai-prices': new URL('../data/genai-prices.json', import.meta.url),
  'models.dev': new URL('../data/models-dev.json', import.meta.url),
  litellm: new URL('../data/litellm.json', import.meta.url),
}

/** The name of the first source and its version, which its prices have. */
export const BUNDLED_SOURCE = BUNDLED['genai-prices'].source

/** The data of a source as it came with this release, in the form of a catalog file. */
export function bundledText(kind: BundledKind = 'genai-prices'): string {
  if (kind === 'azure') return NO_AZURE
  // ASCII: see `scripts/prices/lists.ts`.
  return readFileSync(FILES[kind], 'latin1')
}

/** The part of it that is of one provider. @throws {Error} when the file is not what the script writes. */
export function bundledProvider(kind: BundledKind, id: string): unknown {
  const text = bundledText(kind)
  const start = text.indexOf(`\n{"id":"${id}",`)
  const end = text.indexOf('\n]}', start)
  if (start < 0 || end < 0) throw new Error(`the bundled prices of ${kind} have no ${id}`)
  return JSON.parse(text.slice(start, end + 3))
}
