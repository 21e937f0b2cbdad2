import { type ModelDocument, namesOf } from '#prices/catalog-document.ts'
import { readModelName } from '../../domain/model-name.ts'
import { compileMatch } from '../catalog/catalog-match.ts'
import type { HeldRow } from './read-rows.ts'

/** As models are called, and no model is. */
const NO_MODEL = readModelName('zz-no-such-model-q')

/**
 * Rows of a provider whose rules take any name, so that whatever is not known would have their price, or the whole names of
 * other rows at another price. What a row took before it may take on. No rule is wild, as `wildRuleOf` says.
 */
export function takersOf(
  provider: string,
  models: readonly ModelDocument[],
  older: readonly ModelDocument[],
): readonly HeldRow[] {
  const rules = new Map(older.map(({ id, match }) => [id, JSON.stringify(match)]))
  const changed = models.filter(({ id, match }) => rules.get(id) !== JSON.stringify(match))
  if (changed.length === 0) return []
  const named = models.flatMap((model) =>
    namesOf(model).map((name) => ({ name: readModelName(name), model })),
  )
  return changed.flatMap((model): HeldRow[] => {
    const rule = compileMatch(model.match)
    if (NO_MODEL !== null && rule?.(NO_MODEL) === 'exact')
      return [{ provider, model: model.id, why: 'takes any name', offered: null }]
    const taken = named.find(
      (other) =>
        other.model !== model &&
        other.name !== null &&
        rule?.(other.name) === 'exact' &&
        JSON.stringify(other.model.prices) !== JSON.stringify(model.prices),
    )
    if (taken === undefined) return []
    return [
      {
        provider,
        model: model.id,
        why: `takes the name ${taken.name?.text} of ${taken.model.id}`,
        offered: model,
      },
    ]
  })
}
