import { MODEL_CORRECTIONS } from '../../src/pricing/corrections/models.ts'
import { findSettled } from '../../src/pricing/corrections/settled.ts'
import type { TakenPrice } from './judge.ts'

/**
 * Why our price stands against what sources say of `model`: the provider's own page, in our reviewed
 * corrections, or a contradiction that was looked into and where the first source was right. `null`: not
 * looked into.
 *
 * @param isFirst Our price is that of the first source that says anything.
 */
export function ownReason(
  model: string,
  { source, provider, listed }: TakenPrice,
  isFirst: boolean,
): string | null {
  const correction = source.startsWith('corrections@')
    ? MODEL_CORRECTIONS.find((one) => one.providerId === provider && one.id === listed)
    : undefined
  const found = correction ?? (isFirst ? findSettled(provider, model) : null)
  return found === null ? null : `${found.why} (${found.source}, ${found.seen})`
}
