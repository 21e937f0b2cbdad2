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

/**
 * A client and a model, of which calls may have taught something: apart from each other those whose requests determine
 * their prompts, and those to which the provider adds what it finds or keeps.
 */
export class LearnedSubject {
  readonly #uses: LearnedUses
  readonly #key: string

  constructor(uses: LearnedUses, key: string) {
    this.#uses = uses
    this.#key = key
  }

  /**
   * What its calls have taught; `null`: nothing yet.
   *
   * @param showsPrompt asked only if it matters
   */
  find(showsPrompt: () => boolean): LearnedUse | null {
    const hidden = this.#uses.find(this.#key + HIDDEN)
    return hidden === null || showsPrompt() ? this.#uses.find(this.#key) : hidden
  }

  /** What is known now of such calls, or begins to be. */
  open(showsPrompt: boolean): LearnedUse {
    return this.#uses.open(showsPrompt ? this.#key : this.#key + HIDDEN)
  }
}

/** Behind the keys of calls whose prompts their requests do not determine. */
const HIDDEN = '\nhidden'

/** What all clients' calls taught in this process. */
export class LearnedUses {
  #young = new Map<string, LearnedUse>()
  #old = new Map<string, LearnedUse>()

  subject(clientId: string, model: string): LearnedSubject {
    return new LearnedSubject(this, `${clientId}\n${model}`)
  }

  /** @param key of a subject. */
  find(key: string): LearnedUse | null {
    return this.#young.get(key) ?? this.#old.get(key) ?? null
  }

  /** @param key of a subject. */
  open(key: string): LearnedUse {
    const known = this.find(key) ?? new LearnedUse()
    if (this.#young.size >= MAX_KEPT) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, known)
    return known
  }
}
