import { coversModel } from '../covers-model.ts'
import type { Limit } from '../limit.ts'
import { coversAnyOf } from './limiter.ts'

/** Names are input, so there must be an end. The oldest are dropped first. */
const MAX_NAMES = 200
const MAX_MODELS = 16
const NONE: readonly string[] = []

/**
 * Which models a client's calls ran by another name: a router's `auto`, or a name of the operator's own. Without this
 * such a name would pass a limit on the model that answers, for good.
 */
export class ModelsRun {
  readonly #ran = new Map<string, readonly string[]>()

  /**
   * A call that named one model was recorded with another.
   *
   * @returns Whether limits hold for calls by this name that did not before.
   */
  learn(limits: readonly Limit[], named: string | null, ran: string): boolean {
    if (named === null || named === ran) return false
    const known = this.#ran.get(named) ?? NONE
    if (known.includes(ran) || known.length >= MAX_MODELS) return false
    if (!limits.some(({ model }) => model !== null && coversModel(model, ran) && !coversAnyOf(model, named)))
      return false
    this.#ran.delete(named)
    this.#ran.set(named, [...known, ran])
    if (this.#ran.size > MAX_NAMES) for (const oldest of this.#ran.keys()) return this.#ran.delete(oldest)
    return true
  }

  get isEmpty(): boolean {
    return this.#ran.size === 0
  }

  by(named: string): readonly string[] {
    return this.#ran.get(named) ?? NONE
  }
}

/** Subjects of which it is kept. */
const MAX_KEPT = 1_000

/** Which models the names of subjects run that are at work no longer: else each pause would open them again. */
export class KeptModels {
  readonly #of = new Map<string, ModelsRun>()

  of(subjectId: string): ModelsRun | undefined {
    return this.#of.get(subjectId)
  }

  keep(subjectId: string, models: ModelsRun): void {
    if (models.isEmpty) return
    this.#of.delete(subjectId)
    this.#of.set(subjectId, models)
    if (this.#of.size <= MAX_KEPT) return
    for (const oldest of this.#of.keys()) {
      this.#of.delete(oldest)
      return
    }
  }
}
