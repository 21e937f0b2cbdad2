import type { ResponseUse } from '../call/call-record.ts'
import type { Observation, UsagePart } from '../call/observation.ts'
import type { JsonObject } from './reading/json-value.ts'
import type { Projection } from './wires/plans/json-projection.ts'
import type { SessionMessage } from './wires/scan-json.ts'

/** The knowledge that the gateway has of the request when the response begins. */
export interface RequestContext {
  /** Upper case. */
  readonly method: string
  /** The canonical path: decoded, without query, an upstream's `path_prefix` taken off. */
  readonly path: string
  /** The model the body named, or `null`. */
  readonly model: string | null
  /** Tells whether the body asked for a stream; `null` when it did not say. */
  readonly stream: boolean | null
  /**
   * The values that the body has at the paths of the dialect's `requestProjection`; `null` or left out: none, or it is
   * in doubt.
   */
  readonly fields?: JsonObject | null
}

/** The beginning of a response: enough to choose how to read its body. */
export interface ResponseHead {
  readonly status: number
  /** Lower-case names; a repeated header as an array. `content-encoding` is already undone before a reader. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/**
 * Reads one response body as it passes. Chunks are borrowed: a reader must copy what it keeps, and keeps at
 * most tens of KB whatever passes. It may be cut at any byte. It must not throw; the caller still guards.
 */
export interface UsageReader {
  /** The next bytes of the body, content-encoding undone. */
  push(chunk: Uint8Array): void
  /** The body ended as it should. Called at most once; then only the returned observation counts. */
  end(): Observation
  /**
   * The usage seen so far, for a call cut here: final usage that already passed is `reported`, running usage
   * `partial`. May be called at any time before `end`, and costs little when nothing new was seen.
   */
  peek(): Observation
  /** Goes up whenever `peek` would say more than before: the gateway then saves a snapshot. */
  readonly revision: number
  /** All that made `revision` go up are later running counts, and nothing else: `peek` need not be asked to know. */
  readonly isRunning?: boolean
  /** The bytes pushed last are whole server-sent events, and none of them reports usage. */
  readonly hasNoUsage?: boolean
}

/**
 * Reads the messages a server sends over one WebSocket session, one call each, already unmasked, joined and
 * inflated. The bytes are borrowed. It must not throw; the caller still guards. A session has no proper end of
 * its own, so `peek` also gives the final observation.
 */
export interface MessageReader {
  message(message: SessionMessage): void
  /** Kept of a message that is too large to be handed over whole. */
  readonly projection: Projection
  /** The client has asked for a response, which is under way from here on. */
  asked(): void
  /** The client has sent so many bytes. */
  clientSent?(byteCount: number): void
  peek(): Observation
  /** As {@link UsageReader.revision}. */
  readonly revision: number
  /** Tells whether anything has begun, or was asked for, whose usage `peek` does not have yet. */
  readonly underWay: boolean
  /** Tells whether that is a response. */
  readonly isResponding: boolean
  /** Other work that is under way, estimated by what passed of it. */
  readonly unfinished: readonly UsagePart[]
  /** The model of work beside its responses, as the upstream says; absent or `null`: none is named. */
  readonly besideModel?: string | null
  /** The id of the last answer that began, where the upstream keeps them. */
  readonly madeId?: string | undefined
  /** Tokens of the sound in what passed of the responses under way, by its length; 0 without any. */
  readonly soundTokens: number
  /** Tokens of the last response counted, prompt and answer: the next one's prompt has them at least. */
  readonly contextTokens: number
}

/** A request inside another one. */
export interface InnerRequest {
  readonly member: string
  /** The dialect of a body whose member could be read, so that its model is known. */
  readonly dialect: Dialect
}

/** How messages of a session's client are read, which may have any length. */
export interface ClientMessageFormat {
  readonly projection: Projection
  /** @param message what the projection keeps of it */
  read(message: unknown): ClientMessage
}

/** The content of a message that a session's client sends. */
export interface ClientMessage {
  /** The model that it names; `null`: none. */
  readonly model: string | null
  /** No other message may name another model, nor the query; absent: the first counts. */
  readonly fixesModel?: boolean
  /** It asks for a response. */
  readonly asks: boolean
}

/** The tokenizers that estimates distinguish. */
export type TokenizerFamily = 'openai' | 'claude' | 'gemini' | 'vertex'

/**
 * The place where a request bounds its answer: under `max_output_tokens`, in an object of settings, in one of the two
 * by the family of the model, at the root where servers of another kind look into settings alone, or nowhere that is
 * known.
 */
export type OutputBound =
  | 'max_output_tokens'
  | 'settings'
  | 'settings_or_root'
  | 'root_raised_by_settings'
  | 'unknown'

/** Pictures and speech that are made, or recordings that are written down. */
export type Medium = 'pictures' | 'speech' | 'recordings'

/** The fields of a dialect that an estimate of tokens needs. */
export type PromptFormat = Pick<Dialect, 'tokenizerFamily' | 'isChat'>

/**
 * The members of a request that multiply its answer, by names in lower case. A dialect without it gives one answer to a
 * request, whatever that says.
 */
export interface AnswerCounts {
  /** Numbers, at the top level or among settings. They are names of one thing, so the largest counts. */
  readonly numbers?: readonly string[]
  /** Arrays at the top level whose elements are prompts, each with answers of its own. */
  readonly arrays?: readonly string[]
}

/** THE table: each endpoint's dialect names a row of it. Sources: the references that the dialects name. */
export const ANSWER_COUNTS = {
  /** vLLM takes `best_of` as well, and `n` as the width of its beam search. */
  chat: { numbers: ['n', 'best_of'] },
  /** An array of strings, or of arrays of tokens; an array of tokens is one prompt. */
  completions: { numbers: ['n', 'best_of'], arrays: ['prompt', 'prompt_embeds'] },
  /** Each of what vLLM and TGI do there. */
  invocations: {
    numbers: ['n', 'best_of', 'num_return_sequences'],
    arrays: ['prompt', 'prompt_embeds', 'documents', 'text_2', 'data_2', 'items', 'inputs'],
  },
  llamaCpp: { numbers: ['n', 'n_cmpl'], arrays: ['prompt'] },
  tgi: { numbers: ['best_of', 'num_return_sequences'], arrays: ['inputs'] },
  tgiVertex: { arrays: ['instances'] },
  gemini: { numbers: ['candidatecount', 'candidate_count'] },
  alibaba: { numbers: ['n'] },
  cloudflareRun: { numbers: ['n', 'num_outputs'], arrays: ['requests'] },
  /** The names of Cohere's, of AI21's, and of models that take OpenAI's requests. */
  bedrockInvoke: { numbers: ['num_generations', 'numresults', 'n'] },
  bedrockImages: { numbers: ['numberofimages', 'samples', 'n'] },
  openAiImages: { numbers: ['n'] },
  imagen: { numbers: ['samplecount', 'sample_count', 'numberofimages'], arrays: ['instances'] },
  veo: {
    numbers: ['samplecount', 'sample_count', 'numberofvideos', 'number_of_videos'],
    arrays: ['instances'],
  },
  azureVideos: { numbers: ['n_variants'] },
  /** Documents, each of which is read with the query: they multiply what is ranked. */
  rankings: { arrays: ['documents', 'texts', 'text_2', 'data_2', 'records', 'sources', 'items'] },
  cohereGenerate: { numbers: ['num_generations'] },
} as const satisfies Readonly<Record<string, AnswerCounts>>

/** One metered endpoint of a provider. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  /** Tells whether a canonical path means this endpoint; `lowerPath` is the same in lower case. */
  readonly matches: (path: string, lowerPath: string) => boolean
  readonly dialect: Dialect
}

/** A POST endpoint known by the end of its path, in lower case, whatever prefix a provider puts before it. */
export function postTo(end: string, dialect: Dialect): Endpoint {
  return { method: 'POST', matches: (_path, lowerPath) => lowerPath.endsWith(end), dialect }
}

/**
 * A POST endpoint known by what its path ends in, and a name before that, which may hold slashes as ARNs of AWS do.
 *
 * @param before stands before the name, in lower case, with its slashes.
 * @param holding the name has one of these in it, in lower case; absent: it is any.
 */
export function postOn(
  before: string,
  ends: readonly string[],
  dialect: Dialect,
  holding: readonly string[] = [''],
): Endpoint {
  return {
    method: 'POST',
    matches(_path, lowerPath) {
      const end = ends.find((one) => lowerPath.endsWith(one))
      const at = end === undefined ? -1 : lowerPath.indexOf(before)
      if (end === undefined || at === -1) return false
      const name = lowerPath.slice(at + before.length, lowerPath.length - end.length)
      return name !== '' && holding.some((part) => name.includes(part))
    },
    dialect,
  }
}

/** A part of any length: from each place in a path where the pattern could begin, all of the rest is tried. */
const TRIES_ALL = /\.[*+]/

/**
 * An endpoint known by a pattern of its path, whatever the case of its letters.
 *
 * @throws For a pattern that takes the square of a path's length, or more: clients write paths.
 */
export function endpoint(method: Endpoint['method'], pattern: RegExp, dialect: Dialect): Endpoint {
  if (TRIES_ALL.test(pattern.source)) throw new Error(`${pattern} takes too long: see postOn`)
  const anyCase = new RegExp(pattern.source, 'i')
  return { method, matches: (path) => anyCase.test(path), dialect }
}

/** An endpoint that asks for a response that was made before, by the id in its path: its usage counts once. */
export function fetching(method: Endpoint['method'], pattern: RegExp, dialect: Dialect): Endpoint {
  return endpoint(method, pattern, { ...dialect, responseUse: 'fetched' })
}

const DEPLOYMENT = /\/(?:deployments|engines|(serving-endpoints))\//i
const VERTEX_ENDPOINT = /\/locations\/[^/]+\/(endpoints\/(?!openapi\/)[^/]+)\//i
/** Endpoints behind a deployment. At LiteLLM its name may hold slashes: `{model:path}` in its routes. */
const BEHIND_DEPLOYMENT =
  /\/(?:(?:extensions\/)?chat\/completions|completions|embeddings|invocations|moderations|rerank|(?:images|audio)\/[a-z]+|videos)$/i

/** A version behind a deployment's name is the API's, as at Docker's engines. */
const VERSION = /\/v\d+$/i

/**
 * The deployment that Azure and Databricks name in the path, the engine of LiteLLM's proxy, or the endpoint of Vertex's,
 * which runs its own model whatever the body names; `null` without one.
 */
export function deploymentIn(path: string): string | null {
  const before = DEPLOYMENT.exec(path)
  if (before === null) return VERTEX_ENDPOINT.exec(`${path}/`)?.[1] ?? null
  const behind = path.slice(before.index + before[0].length)
  const [first = ''] = behind.split('/', 1)
  // Databricks names what an endpoint serves behind it.
  const end = before[1] === undefined ? (BEHIND_DEPLOYMENT.exec(behind)?.index ?? -1) : -1
  return (end > 0 ? behind.slice(0, end).replace(VERSION, '') : first) || null
}

/** Requests to a path that takes others too, which only ask for what one of those had put into a queue. */
export interface Polls {
  /** Their whole body, as its first bytes stand for themselves. Any other body may order work. */
  readonly body: RegExp
  /** Such a request: its query with the `?`, and its body. */
  readonly query: string
  readonly bodyOf: (id: string) => string
  /** How it is read; its `responseUse` is `fetched`. */
  readonly dialect: Dialect
}

/** How one endpoint of a provider writes usage. Stateless; one instance serves all calls. */
export interface Dialect {
  /** `<provider family>.<endpoint>`, e.g. `openai.chat-completions`. */
  readonly name: string
  /** Tells whether a request's body is read (model, stream) before it goes upstream, whatever it is said to be. */
  readonly readsRequest: boolean
  /** Tells whether the endpoint takes a form (`multipart/form-data`) in the place of JSON; absent: it never does. */
  readonly takesForm?: boolean
  /**
   * The part of the request that the reader needs, where answers do not report what is billed (characters, seconds);
   * absent: nothing. Of a form nothing is read but the model.
   */
  readonly requestProjection?: Projection
  /** Tells whether `stream_options.include_usage` may be spliced into a streaming request here. */
  readonly takesIncludeUsage: boolean
  /** The members that change the form of its answers; absent: nothing that is known. */
  readonly answerForm?: AnswerForm
  /** `false`: it is not billed by tokens that a tokenizer could count, so none are estimated where it reports none. */
  readonly countsTokens?: false
  /** Billed by other than tokens: pictures, seconds, calls. `countsTokens` is then `false` as well. */
  readonly billsUnits?: true
  /** Ranks: what its `answers` count is read with the whole query, each. */
  readonly ranks?: true
  /** Embeds, ranks or classifies: all that it uses is its input. */
  readonly generatesNothing?: true
  /** The members where its servers find the most that an answer may have; absent: `max_tokens` and its later name. */
  readonly outputBound?: OutputBound
  /** The members that multiply its answer; absent: a request has one, whatever it says. */
  readonly answers?: AnswerCounts
  /** The media that it makes or reads beside text, where models may be paid for it by the token; absent: nothing. */
  readonly medium?: Medium
  /** Its prompts go through a chat template, even where the request has no list of messages. */
  readonly isChat?: boolean
  /** Whose tokenizer an estimate assumes where no model is named; absent: OpenAI's. */
  readonly tokenizerFamily?: TokenizerFamily
  /** Reasoning may stay hidden in its WebSocket sessions, so what passed of one is not all that was generated. */
  readonly hidesReasoningInSessions?: true
  /** Answers pass as they are generated, unless the request says otherwise. */
  readonly streamsByDefault?: true
  /** Counts in the middle of a stream have the hidden thoughts in them. */
  readonly runningUsageHasThoughts?: true
  /** Servers of this format know `stream_options`, so `include_usage: always` may set it here. */
  readonly knowsStreamOptions?: boolean
  /**
   * The model that runs stands elsewhere than under `model` of the body or in the path: in another field, or nowhere.
   */
  readonly hidesModel?: true
  /**
   * The credential that it makes lets its bearer talk to the provider past the gateway, where nothing can be counted.
   */
  readonly passesBy?: true
  /**
   * Its requests are JSON-RPC. Those of this method call the tool that `params.name` names, which stands for a model;
   * those of others cost nothing.
   */
  readonly callsTools?: string
  /** Known to cost nothing: an answer without figures is then no gap. */
  readonly isFree?: true
  /** Reads whatever an unknown path answers: silence then says nothing about its cost. */
  readonly isGeneric?: true
  /** The request that it orders stands in a member of its body; absent: it is the body. */
  readonly innerRequest?: InnerRequest
  /** A request may be put into a queue: the answer is pending then, and names the work as its response. */
  readonly queues?: true
  /** Requests that ask for what an earlier one had put into a queue, which the same path takes; absent: none do. */
  readonly polls?: Polls
  /** Its answers do not name the model that ran: that is of the request which ordered what is fetched. */
  readonly hidesOrderedModel?: true
  /** `fetched`: asks for a response that is there; see {@link ResponseUse}. Default: `created`. */
  readonly responseUse?: ResponseUse
  /** The model named in a canonical path, for providers that put it there; `null` otherwise. */
  modelInPath(path: string): string | null
  createReader(request: RequestContext, head: ResponseHead): UsageReader
  /** Present where the endpoint speaks WebSocket. */
  createMessageReader?(request: RequestContext): MessageReader
  /** Present beside `createMessageReader`. */
  readonly clientMessages?: ClientMessageFormat
  /** The query of a session's handshake names the model; absent: only messages do, whatever the query says. */
  readonly queryNamesModel?: true
  /** Messages of a session's client may name objects. */
  readonly messagesNameObjects?: true
  /** The first message of a session's client has to name the model, and nothing else does. */
  readonly setupNamesModel?: true
  /**
   * The generated text inside one stream event's JSON, or one whole body's, for estimates; '' when it has none.
   */
  textOf(json: unknown): string
}

/** The members of a request that change the form of an answer, so that its usage would not be found. */
export interface AnswerForm {
  /** Query parameters by name in lower case, each with the values that may pass; `null`: none. */
  readonly parameters: ReadonlyMap<string, RegExp | null>
  /** Headers in lower case, which are dropped. */
  readonly headers: readonly string[]
  /** The members of its body that may not be there; absent: none. */
  readonly members?: Projection
}
