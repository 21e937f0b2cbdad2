/** Of the average, the part that each call replaces. */
const WEIGHT = 1 / 8
/** What calls cost above their estimate is believed at once, and a tenth of it is dropped with each call. */
const FADING = 0.9
const MAX_EXCESS = 1_000
/** Names of models are input, so there must be an end. */
const MAX_KEPT = 10_000

/** What a record says. */
export interface UsedByCall {
  readonly outputTokens: number
  readonly inputTokens: number
  /** Pico-USD. */
  readonly costPico: number
}

function excessAfter(excess: number, used: number, estimated: number): number {
  const faded = 1 + (excess - 1) * FADING
  return estimated > 0 ? Math.max(faded, Math.min(used / estimated, MAX_EXCESS)) : faded
}

/** What the calls of one client to one model turned out to use. */
export class LearnedUse {
  /** Average of generated tokens. */
  outputTokens = 0
  /** Average cost, pico-USD. */
  costPico = 0
  /** How many times its estimate a call costs; at least 1. */
  excess = 1
  /** The same of its prompt's tokens. */
  promptExcess = 1

  /** @param estimated without the excess: pico-USD, and tokens of the prompt. */
  add(
    { outputTokens, costPico, inputTokens }: UsedByCall,
    estimated: { readonly pico: number; readonly promptTokens: number },
  ): void {
    this.outputTokens += (outputTokens - this.outputTokens) * (this.outputTokens === 0 ? 1 : WEIGHT)
    this.costPico += (costPico - this.costPico) * (this.costPico === 0 ? 1 : WEIGHT)
    this.excess = excessAfter(this.excess, costPico, estimated.pico)
    this.promptExcess = excessAfter(this.promptExcess, inputTokens, estimated.promptTokens)
  }
}

/** A client and a model, of which calls may have taught something. */
export class LearnedSubject {
  /** As of when it was asked; `null`: nothing yet. */
  readonly known: LearnedUse | null
  readonly #uses: LearnedUses
  readonly #key: string

  constructor(uses: LearnedUses, key: string, known: LearnedUse | null) {
    this.#uses = uses
    this.#key = key
    this.known = known
  }

  /** What is known of it now, or begins to be. */
  open(): LearnedUse {
    return this.#uses.open(this.#key)
  }
}

/** What all clients' calls taught in this process. */
export class LearnedUses {
  #young = new Map<string, LearnedUse>()
  #old = new Map<string, LearnedUse>()

  subject(clientId: string, model: string): LearnedSubject {
    const key = `${clientId}\n${model}`
    return new LearnedSubject(this, key, this.#young.get(key) ?? this.#old.get(key) ?? null)
  }

  /** @param key of a subject. */
  open(key: string): LearnedUse {
    const known = this.#young.get(key) ?? this.#old.get(key) ?? new LearnedUse()
    if (this.#young.size >= MAX_KEPT) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, known)
    return known
  }
}
