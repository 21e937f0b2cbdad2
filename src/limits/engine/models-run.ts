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
  /** Rises with all that is learned. */
  version = 0

  /** A call that named one model was recorded with another: it is kept where one of these limits is for that alone. */
  learn(limits: readonly Limit[], named: string | null, ran: string): void {
    if (named === null || named === ran) return
    const known = this.#ran.get(named) ?? NONE
    if (known.includes(ran) || known.length >= MAX_MODELS) return
    if (!limits.some(({ model }) => model !== null && coversModel(model, ran) && !coversAnyOf(model, named)))
      return
    this.version += 1
    this.#ran.delete(named)
    this.#ran.set(named, [...known, ran])
    if (this.#ran.size > MAX_NAMES) dropOldest(this.#ran)
  }

  get isEmpty(): boolean {
    return this.#ran.size === 0
  }

  by(named: string): readonly string[] {
    return this.#ran.get(named) ?? NONE
  }
}

/** Clients and groups without a subject at work of which it is kept. */
const MAX_KEPT = 1_000

/**
 * Which models the names of each client and group run. Its values share that: a name that one user has tried out would
 * pass the limit of each other one once. It is kept beyond the work, else each pause would open the names again.
 */
export class KeptModels {
  readonly #used = new Map<string, { readonly models: ModelsRun; subjects: number }>()
  readonly #kept = new Map<string, ModelsRun>()

  /** A subject of the client or group is at work. */
  take(owner: string): ModelsRun {
    const used = this.#used.get(owner) ?? { models: this.#kept.get(owner) ?? new ModelsRun(), subjects: 0 }
    used.subjects += 1
    this.#used.set(owner, used)
    this.#kept.delete(owner)
    return used.models
  }

  /** It is at work no longer. */
  giveBack(owner: string): void {
    const used = this.#used.get(owner)
    if (used === undefined) return
    used.subjects -= 1
    if (used.subjects > 0) return
    this.#used.delete(owner)
    if (used.models.isEmpty) return
    this.#kept.set(owner, used.models)
    if (this.#kept.size > MAX_KEPT) dropOldest(this.#kept)
  }
}

function dropOldest(of: Map<string, unknown>): void {
  for (const oldest of of.keys()) {
    of.delete(oldest)
    return
  }
}
