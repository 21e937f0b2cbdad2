import type { ModelName } from '../../domain/model-name.ts'
import type { CatalogModel } from './catalog-entries.ts'

/**
 * The models of a list by their names. Most rules are names, and lists have hundreds of models: judging newer prices
 * looks for each name of a list in all of it, and tried every rule on every name.
 */
export interface ModelIndex {
  /** All models have a maker's price, taken over by a person's word: they stand behind what any source says of the host. */
  readonly isTaken: boolean
  /** In the order of the list, all models whose rule or id may fit a name. */
  candidates(name: ModelName): readonly CatalogModel[]
}

const indexes = new WeakMap<readonly CatalogModel[], ModelIndex>()

export function indexOf(models: readonly CatalogModel[]): ModelIndex {
  const known = indexes.get(models)
  if (known !== undefined) return known
  const made = makeIndex(models)
  indexes.set(models, made)
  return made
}

function makeIndex(models: readonly CatalogModel[]): ModelIndex {
  const byText = new Map<string, number[]>()
  /** Whose rules take more than some names. */
  const patterns: number[] = []
  for (const [at, { id, matches }] of models.entries()) {
    if (matches.texts === undefined) patterns.push(at)
    else
      for (const text of new Set([id.toLowerCase(), ...matches.texts])) {
        const others = byText.get(text)
        if (others === undefined) byText.set(text, [at])
        else others.push(at)
      }
  }
  const modelsAt = (places: readonly number[]) => places.flatMap((at) => models[at] ?? [])
  const always = modelsAt(patterns)
  return {
    isTaken: models.every(({ sellsFor }) => sellsFor !== undefined),
    candidates({ text, sureLength }) {
      const named = byText.get(text)
      const revised = sureLength === text.length ? undefined : byText.get(text.slice(0, sureLength))
      if (named === undefined && revised === undefined) return always
      const places = new Set([...patterns, ...(named ?? []), ...(revised ?? [])])
      return modelsAt([...places].sort((one, other) => one - other))
    },
  }
}
