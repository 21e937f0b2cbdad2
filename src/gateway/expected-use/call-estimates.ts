import type { CallRecord } from '../../call/call-record.ts'
import type { EstimateConfig } from '../../config/yaml/config-file.ts'
import { cleanModel } from '../../domain/clean-text.ts'
import type { LearntPrompt } from '../../limits/engine/held-limits.ts'
import type { ExpectedUse, UpperUse } from '../../limits/engine/limiter.ts'
import type { Catalog } from '../../pricing/catalog/catalog.ts'
import { askedTierOf } from '../../pricing/catalog/catalog-service-tiers.ts'
import { tierAt } from '../../pricing/places/place-tiers.ts'
import { placeInPath } from '../../pricing/places/upstream-places.ts'
import type { Dialect } from '../../providers/dialect.ts'
import { entryOf } from '../../providers/registry.ts'
import type { Admission } from '../admission/admission.ts'
import { type AskedSize, NOTHING_ASKED } from '../bodies/asked-size.ts'
import { kindOfPrompt, type LearnedRatios } from '../estimation/learning/learned-ratios.ts'
import { showsItsPrompt } from '../estimation/shown-prompt.ts'
import { DearestUse } from './dearest-use.ts'
import { type LearnedSubject, type LearnedUse, LearnedUses } from './learned-use.ts'
import { mediaTokens, namesSound, requestedUnits, unitsCost } from './media-units.ts'
import { KnownRates, type ModelRates, type RatesOfTier, ratesWithCaching } from './model-rates.ts'
import { MAX_TOKENS, outputBound } from './output-bound.ts'

/** What a call may cost, before it goes upstream. */
export class CallEstimate implements ExpectedUse {
  readonly pico: bigint
  readonly tokens: number
  readonly isPriced: boolean
  /** Before what was learned: pico-USD, and tokens of the prompt. */
  readonly #plainPico: number
  readonly #promptTokens: number
  readonly #subject: LearnedSubject | null

  constructor(
    pico: bigint,
    tokens: number,
    isPriced: boolean,
    plainPico: number,
    subject: LearnedSubject | null,
    promptTokens = 0,
  ) {
    this.pico = pico
    this.tokens = tokens
    this.isPriced = isPriced
    this.#plainPico = plainPico
    this.#promptTokens = promptTokens
    this.#subject = subject
  }

  /** Only calls that were served and have a cost teach anything. */
  learn(
    { costPico, usage, reportedModel }: Pick<CallRecord, 'costPico' | 'usage' | 'reportedModel'>,
    prompt: LearntPrompt,
  ): void {
    if (this.#subject === null || costPico === null || costPico === '0') return
    const outputTokens = usage.outputTokens ?? 0
    const inputTokens = usage.inputTokens ?? 0
    const estimated = { pico: this.#plainPico, promptTokens: this.#promptTokens }
    const learned = this.#subject.open(prompt.showsPrompt(reportedModel))
    learned.add({ outputTokens, inputTokens, costPico: Number(costPico) }, estimated)
  }
}

/** It will cost something: not 0, which passes where a budget is spent. */
const UNKNOWN = 1n
/** It runs no model. */
const FREE = new CallEstimate(0n, 0, true, 0, null)

/**
 * Bytes of JSON for a token: of 117 recorded calls without tools or hidden prompts all came to more, but for 20 that
 * were shorter than what their servers put around them.
 */
const BYTES_PER_TOKEN = 2
/** What every chat template adds, and what naming any tools adds at Anthropic. */
const TOKENS_AROUND = 16
const TOKENS_FOR_TOOLS = 600
/** Base64 of what is not text. A page of PDF has 1,500 to 3,000 tokens and a picture's, sound 10 to 32 a second. */
const DOCUMENT_BYTES_PER_TOKEN = 8
const MIN_DOCUMENT_TOKENS = 3_000
const MAX_DOCUMENT_TOKENS = 200_000
const SOUND_BYTES_PER_TOKEN = 128
const OPAQUE_BYTES_PER_TOKEN = 4
/** No request is served that asks for more to one prompt. */
const MAX_ANSWERS = 1_000

/** The most that a prompt may have, by its body. */
interface PromptSize {
  readonly textTokens: number
  /** Of pictures, documents, sound and films. */
  readonly mediaTokens: number
}

/** @param bytes the body's length, also where it was not read. */
function promptSize(bytes: number, asked: AskedSize, rates: ModelRates, dialect: Dialect | null): PromptSize {
  const { images, imageBytes, documents, documentBytes, soundBytes, opaqueBytes } = asked
  const mediaBytes = imageBytes + documentBytes + soundBytes + opaqueBytes
  const textBytes = Math.max(0, bytes - mediaBytes)
  const around = TOKENS_AROUND + rates.tokensAround + (asked.hasTools ? TOKENS_FOR_TOOLS : 0)
  const textTokens = Math.ceil((textBytes + bytesReadAgain(dialect, asked)) / BYTES_PER_TOKEN) + around
  if (mediaBytes === 0) return { textTokens, mediaTokens: 0 }
  const documentTokens = Math.max(
    documents * MIN_DOCUMENT_TOKENS,
    Math.min(documentBytes / DOCUMENT_BYTES_PER_TOKEN, documents * MAX_DOCUMENT_TOKENS),
  )
  const mediaTokens =
    images * rates.tokensPerImage +
    documentTokens +
    soundBytes / SOUND_BYTES_PER_TOKEN +
    opaqueBytes / OPAQUE_BYTES_PER_TOKEN
  return { textTokens, mediaTokens: Math.ceil(mediaTokens) }
}

/** The query is a part of the prompt once, and read with each document. */
function bytesReadAgain(dialect: Dialect | null, asked: AskedSize): number {
  if (dialect?.ranks !== true) return 0
  return asked.queryBytes * Math.max(0, answersAsked(dialect, asked) - 1)
}

/** How many answers the request asks for: as many to each of its prompts. */
function answersAsked({ answers }: Dialect, asked: AskedSize): number {
  if (answers === undefined) return 1
  const mayAsk = asked.isUnsure ? MAX_ANSWERS : asked.mayAsk
  let toEach = answers.numbers === undefined ? 1 : Math.max(1, mayAsk)
  let prompts = 0
  for (const name of answers.numbers ?? []) toEach = Math.max(toEach, asked.countOf(name))
  for (const name of answers.arrays ?? []) prompts += asked.countOf(name)
  return Math.min(toEach, MAX_ANSWERS) * Math.max(1, prompts)
}

/** What tiers of one model are compared by: all that their prices differ in is a factor. */
function tokenRate({ tiers: [rates] }: ModelRates): number {
  return rates === undefined ? 0 : rates.input + rates.output
}

/** The rates that a prompt of so many tokens has; `null`: none are known. */
function tierFor({ tiers }: ModelRates, promptTokens: number): RatesOfTier | null {
  let found: RatesOfTier | null = null
  for (const tier of tiers) if (found === null || promptTokens > tier.above) found = tier
  return found
}

/** Estimates calls of one process, by their requests, by prices and by what earlier calls turned out to use. */
export class CallEstimates {
  readonly #settings: EstimateConfig
  readonly #rates: KnownRates
  readonly #learned = new LearnedUses()
  readonly #job: CallEstimate
  readonly #ratios: LearnedRatios | null

  /**
   * @param catalog the one that prices calls now.
   * @param ratios what estimates of tokens have learned; `null`: nothing.
   */
  constructor(catalog: () => Catalog, settings: EstimateConfig, ratios: LearnedRatios | null = null) {
    this.#ratios = ratios
    this.#settings = settings
    this.#rates = new KnownRates(catalog)
    this.#job = new CallEstimate(settings.jobReservePico, 0, true, 0, null)
  }

  /** As {@link estimateCall}, whichever of its targets a call goes to. */
  expectedUse(admission: Admission): ExpectedUse {
    return admission.candidates.length < 2 ? this.estimateCall(admission) : this.#estimateDearest(admission)
  }

  /** The most of what it may use and cost at any of its targets. */
  #estimateDearest(admission: Admission): ExpectedUse {
    const { route, candidates } = admission
    try {
      return new DearestUse(
        candidates.map((candidate) => {
          admission.route = candidate
          return { candidate, estimate: this.estimateCall(admission) }
        }),
      )
    } finally {
      admission.route = route
    }
  }

  /** Of a call whose route is final and whose body is read as planned. */
  estimateCall(admission: Admission): CallEstimate {
    const { route, body } = admission
    const { dialect } = route
    if (dialect === null || route.reading === 'free' || route.isFetch || dialect.isFree === true) return FREE
    if (route.reading === 'deferred') return this.#job
    const asked = body.scan?.asked ?? NOTHING_ASKED
    const model = cleanModel(admission.sentModel)
    if (dialect.callsTools !== undefined && model !== null) {
      const { request = 0 } = this.#ratesOf(admission, model, USUAL).tiers[0] ?? {}
      return new CallEstimate(BigInt(Math.ceil(request)), 0, true, request, null)
    }
    if (dialect.countsTokens === false && route.reading === 'metered') {
      return this.#estimateMedia(admission, dialect, asked, model)
    }
    if (model === null)
      return new CallEstimate(UNKNOWN, this.#tokensOfAny(admission, dialect, asked), false, 0, null)
    const rates = ratesWithCaching(this.#ratesOf(admission, model, tiersAsked(admission, asked)), body.plain)
    const subject = this.#learned.subject(admission.caller.clientId, model)
    const learned = subject.find(() => showsItsPrompt(body.plain, [model]))
    const bytes = bodyBytes(admission)
    const { textTokens: usual, mediaTokens: media } = promptSize(bytes, asked, rates, dialect)
    // Its own calls tell more, once there are some.
    const textTokens = learned === null ? this.#beyondUsual(admission, model, asked, usual) : usual
    const output = this.#outputOf(dialect, asked, learned)
    const tier = tierFor(rates, textTokens + media)
    let plainPico =
      tier === null ? 0 : tier.request + textTokens * tier.input + media * tier.media + output * tier.output
    // Paid by the picture or the character, where others are paid by the token.
    if (tier !== null && tier.input + tier.output === 0)
      plainPico += unitsCost(tier, { bytes, promptTokens: textTokens, answers: answersAsked(dialect, asked) })
    return build(plainPico, textTokens + media, output, admission, rates, subject, learned)
  }

  /**
   * The tokens that {@link estimateCall} reckons with, of a call whose use was not reported. What such calls cost above their
   * prices of tokens counts as more prompt.
   */
  upperUse(admission: Admission, named: string | null, asked: AskedSize, bytes: number): UpperUse {
    const { dialect } = admission.route
    const rates = named === null ? ANY_MODEL : this.#ratesOf(admission, named, tiersAsked(admission, asked))
    const learned =
      named === null ? null : this.#learned.subject(admission.caller.clientId, named).find(() => false)
    const { textTokens, mediaTokens } = promptSize(bytes, asked, rates, dialect)
    const excess = learned === null ? 1 : Math.max(learned.excess, learned.promptExcess)
    return {
      inputTokens: Math.ceil((textTokens + mediaTokens) * excess),
      outputTokens: dialect === null ? 0 : this.#outputOf(dialect, asked, learned),
    }
  }

  /** As {@link CallEstimate.learn}, of one that {@link estimateCall} gave. */
  learn(expected: ExpectedUse, record: CallRecord, prompt: LearntPrompt): void {
    const estimate = expected instanceof DearestUse ? expected.of(record) : expected
    if (estimate instanceof CallEstimate) estimate.learn(record, prompt)
  }

  /** The most that a text may have: estimates take half of that, so one that is more than twice too low takes more. */
  #beyondUsual({ caller }: Admission, model: string, { hasTools }: AskedSize, textTokens: number): number {
    if (this.#ratios === null) return textTokens
    const { clientId } = caller
    const ratio = this.#ratios.ratioOf({ clientId, model, kind: kindOfPrompt(hasTools, textTokens / 2) })
    return ratio <= 2 ? textTokens : Math.ceil((textTokens * ratio) / 2)
  }

  #outputOf(dialect: Dialect, asked: AskedSize, learned: LearnedUse | null): number {
    if (dialect.generatesNothing === true) return 0
    const bound = outputBound(dialect, asked)
    const answers = answersAsked(dialect, asked)
    if (bound >= 0) return bound * answers
    const usual =
      Math.max(this.#settings.defaultOutputTokens, Math.min(asked.otherMaxTokens, MAX_TOKENS)) * answers
    return learned === null ? usual : Math.max(usual, Math.ceil(2 * learned.outputTokens))
  }

  #estimateMedia(
    admission: Admission,
    dialect: Dialect,
    asked: AskedSize,
    named: string | null,
  ): CallEstimate {
    const requested = requestedUnits(admission, named)
    const model = requested.model ?? (dialect.hidesModel === true ? null : named)
    if (model === null)
      return new CallEstimate(UNKNOWN, this.#tokensOfAny(admission, dialect, asked), false, 0, null)
    const tiers = requested.serviceTier === null ? tiersAsked(admission, asked) : [requested.serviceTier]
    const rates = this.#ratesOf(admission, model, tiers)
    const subject = this.#learned.subject(admission.caller.clientId, model)
    const learned = subject.find(() => showsItsPrompt(admission.body.plain, [model]))
    const isForm = admission.body.plain === null
    const bytes = namesSound(admission, asked) ? 0 : bodyBytes(admission)
    const prompt = promptSize(isForm ? 0 : bytes, asked, rates, dialect)
    const promptTokens = prompt.textTokens + prompt.mediaTokens
    const tier = tierFor(rates, promptTokens)
    const size = { bytes, promptTokens, answers: answersAsked(dialect, asked) }
    const isByToken = tier === null || tier.output > 0
    const media = mediaTokens(dialect.medium, size)
    const made = isByToken ? (media?.made ?? this.#outputOf(dialect, asked, learned)) : 0
    const heard = tier === null || tier.media > 0 ? (media?.heard ?? 0) : 0
    const plainPico =
      tier === null
        ? 0
        : tier.request +
          prompt.textTokens * tier.input +
          (prompt.mediaTokens + heard) * tier.media +
          made * tier.output +
          unitsCost(tier, size, requested.units)
    return build(plainPico, promptTokens + heard, made, admission, rates, subject, learned)
  }

  /** At the dearest of `tiers`. */
  #ratesOf(admission: Admission, model: string, tiers: readonly (string | null)[]): ModelRates {
    let dearest: ModelRates | null = null
    for (const tier of tiers) {
      const rates = this.#ratesAt(admission, model, tier)
      if (dearest === null || tokenRate(rates) > tokenRate(dearest)) dearest = rates
    }
    return dearest ?? ANY_MODEL
  }

  #ratesAt({ route, caller, arrivedAtMs }: Admission, model: string, serviceTier: string | null): ModelRates {
    const { name: upstream, provider } = route.upstream
    const { clientId, clientName } = caller
    const tier = tierAt(provider, serviceTier, placeInPath(provider, route.target.canonicalPath))
    return this.#rates.find(
      { provider, upstream, clientId, clientName, model, serviceTier: tier },
      arrivedAtMs,
    )
  }

  #tokensOfAny(admission: Admission, dialect: Dialect, asked: AskedSize): number {
    const { textTokens, mediaTokens: media } = promptSize(bodyBytes(admission), asked, ANY_MODEL, dialect)
    return textTokens + media + this.#outputOf(dialect, asked, null)
  }
}

const ANY_MODEL: ModelRates = {
  tiers: [],
  isPriced: false,
  tokensPerImage: 5_000,
  tokensAround: 0,
  untilMs: 0,
}

function build(
  plainPico: number,
  promptTokens: number,
  outputTokens: number,
  admission: Admission,
  rates: ModelRates,
  subject: LearnedSubject,
  learned: LearnedUse | null,
): CallEstimate {
  // Without a price of our own, what the upstream said that the others cost is all there is to go by.
  const pico =
    learned === null ? plainPico : plainPico === 0 ? 2 * learned.costPico : plainPico * learned.excess
  const isUnknown = pico === 0 && rates.isPriced && rates.tiers.length === 0
  const expected = isUnknown ? UNKNOWN : BigInt(Math.ceil(pico))
  const prompt = learned === null ? promptTokens : Math.ceil(promptTokens * learned.promptExcess)
  const isPriced = isPricedFor(admission, rates)
  return new CallEstimate(expected, prompt + outputTokens, isPriced, plainPico, subject, promptTokens)
}

/**
 * A call that may run another model than the one whose price was looked for may run one without a price. On a path that
 * is not read the model says nothing: a batch or a run of an agent costs anything, whatever it names.
 */
function isPricedFor(admission: Admission, { isPriced }: ModelRates): boolean {
  return isPriced && !admission.mayRunOthers && admission.route.reading !== 'unknown'
}

/** The body's length; of one that streams, as announced, else 0. */
function bodyBytes({ body, request }: Admission): number {
  if (body.plain !== null) return body.plain.length
  const announced = Number(request.headers['content-length'] ?? 0)
  return announced > 0 ? announced : 0
}

const USUAL: readonly null[] = [null]

/**
 * The tiers at which the call may be served, in the form in which answers name them: of what its body and its headers
 * say each alone, and all of it together (`fast+us`).
 */
function tiersAsked({ route, request }: Admission, asked: AskedSize): readonly (string | null)[] {
  const { tierHeaders = NO_HEADERS } = entryOf(route.upstream.provider)
  const inHeaders = tierHeaders.flatMap((name) => request.headers[name] ?? [])
  if (asked.tiers === null && inHeaders.length === 0) return USUAL
  const each = [...(asked.tiers ?? []), ...inHeaders].map(askedTierOf)
  const all = [...new Set(each.filter((tier) => tier !== null))].sort().join('+')
  return [...new Set([...each, all === '' ? null : all])]
}

const NO_HEADERS: readonly string[] = []
