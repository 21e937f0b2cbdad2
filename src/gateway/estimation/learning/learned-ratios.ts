import { familyNameOf } from '../../../providers/model-family.ts'

/**
 * What is learned apart: prompts with and without tools, and the answers to each; short ones too, as what a template or the
 * call of a tool adds weighs most there. Pictures and sound are not: no bytes of a request tell how many tokens they are.
 */
export const LEARNED_KINDS = [
  ...(['plain', 'plain_short', 'tools', 'tools_short'] as const),
  ...(['answer', 'answer_short', 'tool_answer', 'tool_answer_short'] as const),
] as const

export type LearnedKind = (typeof LEARNED_KINDS)[number]

/** A client's calls to one model, of one kind. */
export interface RatioKey {
  readonly clientId: string
  readonly model: string
  readonly kind: LearnedKind
}

/** What its calls taught: the natural logarithm of reported over estimated tokens, and of how many calls. */
export interface KnownRatio extends RatioKey {
  readonly calls: number
  readonly logRatio: number
}

/** Below this many estimated tokens a prompt is short, or an answer. */
const SHORT_PROMPT = 256
const SHORT_ANSWER = 64
/** Of a client and a model each call is measured until so many were, and then one in so many, for a while every few hours. */
const MEASURED_FIRST = 64
const MEASURED_ONE_IN = 1_024
/** In between the thread that counts may end: it takes some 35 MB. */
const LATER_EVERY_MS = 6 * 3_600_000
const LATER_FOR_MS = 60_000
/** Measured at once in a process: each has a text counted in a thread that others wait for. */
const MAX_MEASURING = 2
/** What no tokenizer does is a mistake or a lie. Less matters more: a client may gain by it. */
const MIN_LOG_RATIO = Math.log(0.5)
const MAX_LOG_RATIO = Math.log(4)
/** Older calls weigh as so many: models and templates change. */
export const MAX_WEIGHT = 200
/** What the constants say counts as three calls, what was learned of calls like these as so many at most. */
const CONSTANT_CALLS = 3
const LIKE_CALLS = 4
/**
 * Others are believed where so many clients, each with so many calls, agree within so much: a lie beyond that is not among
 * them, and one within it moves their median by less.
 */
const MIN_CLIENTS = 3
const MIN_CALLS = 5
const AGREED_LOG_RATIO = Math.log(1.01)
/** Names of models are input, so there must be an end: for each client, so that none drops what another taught, and for all. */
export const MAX_KEPT_OF_CLIENT = 500
const MAX_KEPT = 10_000

type Weighed = Pick<KnownRatio, 'calls' | 'logRatio'>

interface Learned extends RatioKey {
  calls: number
  logRatio: number
  /** Logarithms since they were last taken. */
  fresh: number[]
}

/** How far the estimates of this process are off, learned from calls that reported what they used. */
export class LearnedRatios {
  /** Calls by client and model. */
  #seen = new Map<string, Map<string, { calls: number }>>()
  #seenModels = 0
  #learned = new Map<string, Learned>()
  /** How many of these each client has. */
  #kept = new Map<string, number>()
  /** By model and kind: what the calls of clients that agree taught; none: too few do. */
  #others = new Map<string, number>()
  #measuring = 0
  /** Monotonic milliseconds. */
  readonly #now: () => number
  #laterBeganAtMs = Number.NEGATIVE_INFINITY

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether a call that has reported what it used is to be measured; {@link measured} ends that. */
  wants(clientId: string, model: string): boolean {
    const counted = this.#seen.get(clientId)?.get(model) ?? this.#begin(clientId, model)
    const seen = counted.calls
    counted.calls += 1
    if (this.#measuring >= MAX_MEASURING) return false
    if (seen >= MEASURED_FIRST && (seen % MEASURED_ONE_IN > 0 || !this.#measuresLater())) return false
    this.#measuring += 1
    return true
  }

  #begin(clientId: string, model: string): { calls: number } {
    if (this.#seenModels >= MAX_KEPT) {
      this.#seen.clear()
      this.#seenModels = 0
    }
    const counted = { calls: 0 }
    const models = this.#seen.get(clientId) ?? new Map<string, { calls: number }>()
    this.#seen.set(clientId, models.set(model, counted))
    this.#seenModels += 1
    return counted
  }

  #measuresLater(): boolean {
    const nowMs = this.#now()
    if (nowMs - this.#laterBeganAtMs >= LATER_EVERY_MS) this.#laterBeganAtMs = nowMs
    return nowMs - this.#laterBeganAtMs < LATER_FOR_MS
  }

  /** The measuring that {@link wants} asked for has ended, whatever came of it. */
  measured(): void {
    this.#measuring -= 1
  }

  /** A call was estimated at `estimated` tokens and reported `reported`: it teaches of its model, and of its family. */
  add(key: RatioKey, estimated: number, reported: number): void {
    if (!(estimated > 0 && reported > 0)) return
    const logRatio = bounded(Math.log(reported / estimated))
    for (const taught of [key, familyKeyOf(key)]) {
      const fresh = this.#open(taught)?.fresh
      if (fresh === undefined) continue
      if (fresh.length >= MAX_WEIGHT) fresh.shift()
      fresh.push(logRatio)
    }
  }

  /** An estimate as what was learned corrects it. */
  correct(key: RatioKey, estimated: number): number {
    return Math.round(estimated * this.ratioOf(key))
  }

  /**
   * Reported over estimated tokens: what the client's own calls to the model say; before there are some, most other
   * clients' calls to it, else the client's to models of the family, else most others' to these, else 1.
   */
  ratioOf(key: RatioKey): number {
    const family = familyKeyOf(key)
    const constants: Weighed = { logRatio: 0, calls: CONSTANT_CALLS }
    const ofFamily = this.#blend(family, this.#otherClients(family) ?? constants)
    return Math.exp(this.#blend(key, this.#otherClients(key) ?? ofFamily).logRatio)
  }

  /** What the client's own calls say, with `prior` as a few calls more. */
  #blend(key: RatioKey, prior: Weighed): Weighed {
    const learned = this.#learned.get(nameOf(key))
    if (learned === undefined) return prior
    const own = withFresh(learned)
    const weight = Math.min(prior.calls, LIKE_CALLS)
    const calls = own.calls + weight
    return { calls, logRatio: (own.logRatio * own.calls + prior.logRatio * weight) / calls }
  }

  #otherClients(key: RatioKey): Weighed | null {
    const logRatio = this.#others.get(groupOf(key))
    return logRatio === undefined ? null : { logRatio, calls: LIKE_CALLS }
  }

  /** What was learned since it was last asked: of each key the calls and their median. */
  take(): readonly KnownRatio[] {
    const taken: KnownRatio[] = []
    for (const learned of this.#learned.values()) {
      const { clientId, model, kind, fresh } = learned
      if (fresh.length === 0) continue
      taken.push({ clientId, model, kind, calls: fresh.length, logRatio: medianOf(fresh) })
      Object.assign(learned, withFresh(learned), { fresh: [] })
    }
    this.#weighOthers()
    return taken
  }

  /** Takes what all gateways have learned in the place of what this one had, but for what it has not given yet. */
  replace(known: readonly KnownRatio[]): void {
    const before = this.#learned
    this.#learned = new Map()
    for (const row of known) {
      const fresh = before.get(nameOf(row))?.fresh ?? []
      this.#learned.set(nameOf(row), { ...row, logRatio: bounded(row.logRatio), fresh })
    }
    for (const [name, learned] of before) {
      if (learned.fresh.length > 0 && !this.#learned.has(name)) this.#learned.set(name, learned)
    }
    this.#kept.clear()
    for (const { clientId } of this.#learned.values())
      this.#kept.set(clientId, (this.#kept.get(clientId) ?? 0) + 1)
    this.#weighOthers()
  }

  /** `null`: the client has taught as much as is kept. */
  #open(key: RatioKey): Learned | null {
    const name = nameOf(key)
    const known = this.#learned.get(name)
    if (known !== undefined) return known
    const { clientId, model, kind } = key
    const ofClient = this.#kept.get(clientId) ?? 0
    if (ofClient >= MAX_KEPT_OF_CLIENT) return null
    if (this.#learned.size >= MAX_KEPT) {
      this.#learned.clear()
      this.#kept.clear()
    }
    this.#kept.set(clientId, (this.#kept.get(clientId) ?? 0) + 1)
    const learned: Learned = { clientId, model, kind, calls: 0, logRatio: 0, fresh: [] }
    this.#learned.set(name, learned)
    return learned
  }

  /** Each client has one voice, however many calls it makes. */
  #weighOthers(): void {
    const voices = new Map<string, number[]>()
    for (const learned of this.#learned.values()) {
      if (learned.calls < MIN_CALLS) continue
      const group = groupOf(learned)
      const known = voices.get(group)
      if (known === undefined) voices.set(group, [learned.logRatio])
      else known.push(learned.logRatio)
    }
    this.#others = new Map(
      [...voices].flatMap(([group, ratios]): [string, number][] => {
        const agreed = mostAgreed(ratios)
        return agreed.length < MIN_CLIENTS ? [] : [[group, medianOf(agreed)]]
      }),
    )
  }
}

/** The most voices that lie within what is taken to be the same. */
function mostAgreed(ratios: readonly number[]): readonly number[] {
  const rising = ratios.toSorted((a, b) => a - b)
  let most: readonly number[] = []
  let end = 0
  for (const [start, lowest] of rising.entries()) {
    while (end < rising.length && (rising[end] ?? 0) - lowest <= AGREED_LOG_RATIO) end += 1
    if (end - start > most.length) most = rising.slice(start, end)
  }
  return most
}

/** The kind of a prompt that was estimated at so many tokens. */
export function kindOfPrompt(hasTools: boolean, estimated: number): LearnedKind {
  if (estimated < SHORT_PROMPT) return hasTools ? 'tools_short' : 'plain_short'
  return hasTools ? 'tools' : 'plain'
}

/** The same of an answer to such a prompt. */
export function kindOfAnswer(hasTools: boolean, estimated: number): LearnedKind {
  if (estimated < SHORT_ANSWER) return hasTools ? 'tool_answer_short' : 'answer_short'
  return hasTools ? 'tool_answer' : 'answer'
}

/** The client's calls to all models of the family; no model's name begins so. */
function familyKeyOf(key: RatioKey): RatioKey {
  return { ...key, model: `~${familyNameOf(key.model)}` }
}

/** Of two sets of calls, by their numbers; the older one as {@link MAX_WEIGHT} calls at most. */
function withFresh({ calls, logRatio, fresh }: Learned): Weighed {
  if (fresh.length === 0) return { calls, logRatio }
  const weight = Math.min(calls, MAX_WEIGHT)
  const sum = weight + fresh.length
  return { calls: calls + fresh.length, logRatio: (logRatio * weight + medianOf(fresh) * fresh.length) / sum }
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

function bounded(logRatio: number): number {
  return Math.max(MIN_LOG_RATIO, Math.min(MAX_LOG_RATIO, logRatio))
}

function nameOf({ clientId, model, kind }: RatioKey): string {
  return `${clientId}\n${kind}\n${model}`
}

function groupOf({ model, kind }: Pick<RatioKey, 'model' | 'kind'>): string {
  return `${kind}\n${model}`
}
