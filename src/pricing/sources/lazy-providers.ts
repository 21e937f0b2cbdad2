import type { CatalogProvider } from '../catalog/catalog-entries.ts'

/**
 * Lists of providers that are read when they are asked for: a gateway uses two or three of forty, and all of them, parsed,
 * take several megabytes of it.
 */
export class LazyProviders implements ReadonlyMap<string, CatalogProvider> {
  readonly #ids: ReadonlySet<string>
  readonly #read: (id: string) => CatalogProvider
  readonly #known = new Map<string, CatalogProvider>()

  /** @param read Gives the list of any of the `ids`. */
  constructor(ids: readonly string[], read: (id: string) => CatalogProvider) {
    this.#ids = new Set(ids)
    this.#read = read
  }

  get size(): number {
    return this.#ids.size
  }

  has(id: string): boolean {
    return this.#ids.has(id)
  }

  get(id: string): CatalogProvider | undefined {
    if (!this.#ids.has(id)) return undefined
    const known = this.#known.get(id) ?? this.#read(id)
    this.#known.set(id, known)
    return known
  }

  keys(): MapIterator<string> {
    return this.#ids.keys()
  }

  values(): MapIterator<CatalogProvider> {
    return this.#all().values()
  }

  entries(): MapIterator<[string, CatalogProvider]> {
    return this.#all().entries()
  }

  forEach(take: (provider: CatalogProvider, id: string, map: ReadonlyMap<string, CatalogProvider>) => void) {
    for (const [id, provider] of this.#all()) take(provider, id, this)
  }

  [Symbol.iterator](): MapIterator<[string, CatalogProvider]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'LazyProviders'
  }

  #all(): Map<string, CatalogProvider> {
    for (const id of this.#ids) this.get(id)
    return this.#known
  }
}
