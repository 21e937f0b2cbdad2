import { type CatalogDocument, catalogDocumentOf, type ModelDocument } from '#prices/catalog-document.ts'
import { parseCatalog } from '../sources/catalog-parse.ts'
import { excessOf, knownRegexes, wildRuleOf } from './catalog-doubts.ts'

/** A model at a provider whose newer price is doubted. */
export interface HeldRow {
  readonly provider: string
  readonly model: string
  readonly why: string
  /** As it would be taken; `null`: it cannot be read. */
  readonly offered: ModelDocument | null
}

export interface ReadCatalog {
  /** Empty where it is a catalog. */
  readonly problems: readonly string[]
  readonly document: CatalogDocument
}

export function readCatalog(text: string): ReadCatalog {
  const { value, problems } = readJson(text)
  const found = problems.length > 0 ? problems : parseCatalog(value, 'refresh').problems
  return { problems: found, document: found.length > 0 ? [] : catalogDocumentOf(value) }
}

function readJson(text: string): { readonly value: unknown; readonly problems: readonly string[] } {
  try {
    return { value: JSON.parse(text), problems: [] }
  } catch (error) {
    return {
      value: null,
      problems: [`is not JSON: ${error instanceof Error ? error.message : error}`],
    }
  }
}

export interface ReadRows extends ReadCatalog {
  readonly unread: readonly HeldRow[]
}

/** More rows than that cannot be read of no list that was only written wrong in some. */
const MOST_UNREAD = 1 / 20

/** The same of data from outside: rows that cannot be read are left out and named, so that they keep their old price. */
export function readRows(text: string, known: CatalogDocument): ReadRows {
  const { value, problems } = readJson(text)
  // Before any row is read: each takes its time.
  const excess = Array.isArray(value) ? excessOf(known, catalogDocumentOf(value)) : null
  if (excess !== null) return { problems: [excess], document: [], unread: [] }
  const regexes = knownRegexes(known)
  const providers = Array.isArray(value)
    ? value.map((provider: unknown) => readProviderRows(provider, regexes))
    : null
  if (problems.length > 0 || providers === null) {
    return {
      problems: problems.length > 0 ? problems : ['is not a list of providers'],
      document: [],
      unread: [],
    }
  }
  const rest = providers.map(({ sound }) => sound)
  const unread = providers.flatMap((provider) => provider.unread)
  const all = providers.reduce((sum, { rows }) => sum + rows, 0)
  const found = parseCatalog(rest, 'refresh').problems
  const isTooMuch = unread.length > Math.max(1, all * MOST_UNREAD)
  const unreadable = isTooMuch ? unread.map(({ provider, model, why }) => `${provider}/${model}: ${why}`) : []
  const everything = [...unreadable, ...found]
  return { problems: everything, document: everything.length > 0 ? [] : asPublished(rest), unread }
}

/** Without what only we write of a model's past: a source that said it could hide what it changes. */
function asPublished(value: unknown): CatalogDocument {
  return catalogDocumentOf(value).map(({ known_since: _, ...provider }) => ({
    ...provider,
    models: provider.models.map(
      ({ gone_since: _gone, moved_since: _moved, known_since: _known, sells_for: _maker, ...model }) => model,
    ),
  }))
}

function readProviderRows(provider: unknown, regexes: ReadonlySet<string>) {
  const { id, models, ...rest }: { id?: unknown; models?: unknown } = Object(provider)
  if (typeof id !== 'string' || !Array.isArray(models)) return { sound: provider, unread: [], rows: 0 }
  const ids = models.map((model: unknown, index): string => {
    const { id: own }: { id?: unknown } = Object(model)
    return typeof own === 'string' ? own : `model ${index + 1}`
  })
  const times = new Map<string, number>()
  for (const own of ids) times.set(own, (times.get(own) ?? 0) + 1)
  const unread = new Map<string, HeldRow>()
  const sound = models.filter((model: unknown, index) => {
    const own = ids[index] ?? ''
    const { match }: { match?: unknown } = Object(model)
    const [unparsed] = parseCatalog([{ id, models: [model] }], 'refresh').problems
    // Before any name is looked up: all that follows tries the rules of both lists on the names of both.
    const problem = unparsed?.replace(/^[^:]*: /, '') ?? wildRuleOf(match, regexes)
    if (problem === null && times.get(own) === 1) return true
    const why = problem ?? 'is there twice'
    unread.set(own, { provider: id, model: own, why, offered: null })
    return false
  })
  return { sound: { id, models: sound, ...rest }, unread: [...unread.values()], rows: models.length }
}
