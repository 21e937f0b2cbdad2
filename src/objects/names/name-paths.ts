// The paths at which request bodies name objects and models, by endpoint: the one table, made from the providers'
// references.
import { compilePaths, type PathWalk, type WantedPath } from '../../providers/wires/plans/json-paths.ts'
import { readObjectPath } from '../object-path.ts'
import { NameHints } from './name-hints.ts'

/**
 * `id`: of an object. `item`: of a part of a response or conversation, which has no owner, where an object's id fits.
 * `model`: a model that the call runs, or lets run later. `tuned`: one that is checked elsewhere, and may have an
 * owner. `tool`, `tool_model`: the type of a tool, and the model that it names. The others are types of what is read:
 * see `WHOLE_ACCOUNT`.
 */
export type NameTag =
  | 'id'
  | 'item'
  | 'model'
  | 'tuned'
  | 'tool'
  | 'tool_model'
  | 'data_source'
  | 'eval_source'
  | 'upload_purpose'

export type NameWalk = PathWalk<NameTag>

/** How one endpoint's bodies name what they use. */
export interface NamedPaths {
  readonly walk: NameWalk
  /** Bodies without any are not walked; `null`: every body is. */
  readonly hints: NameHints | null
  /** The endpoint takes JSON, so what is not is refused. */
  readonly isKnown: boolean
  /** Fields of a form may name what it uses. */
  readonly readsForms: boolean
}

interface Endpoint {
  /** Pattern of canonical paths in lower case. */
  readonly path: RegExp
  /** Members that hold ids wherever they stand. Where every body is walked, also in Google's spelling: `fileId`. */
  readonly ids: readonly string[]
  /** Members whose names mean an id only at these paths. */
  readonly at?: readonly string[]
  readonly items?: readonly string[]
  readonly models?: readonly string[]
  /** Further ones, which only matter to a key with a list of models. */
  readonly modelsBeside?: readonly string[]
  readonly types?: readonly WantedPath<NameTag>[]
  /**
   * Every name of `ids` holds one of these, in lower case, and without k and s: two letters beyond ASCII fold into
   * them. A body without any is not walked. Absent: every body is.
   */
  readonly stems?: readonly string[]
  /** It takes other bodies than JSON. */
  readonly takesAnything?: true
}

const FILES = ['file_id', 'file_ids'] as const
const RESPONSES = [
  ...FILES,
  'previous_response_id',
  'comparison_response_id',
  'conversation',
  'conversation_id',
  'vector_store_id',
  'vector_store_ids',
  'container',
  'container_id',
  'skill_id',
  'library_ids',
] as const
const MESSAGES = [...FILES, 'container', 'skill_id'] as const
const GOOGLES = [
  'file_uri',
  'cached_content',
  'file_search_store_names',
  'file_name',
  'operation_name',
  'previous_interaction_id',
  'tuned_model',
  'tuned_model_name',
  'rag_corpus',
  'rag_corpora',
] as const
/** The paths for a body that is short, or of whose endpoint nothing is known. */
const ALL = [
  ...RESPONSES,
  ...GOOGLES,
  'input_file_id',
  'input_file_ids',
  'input_files',
  'output_file_id',
  'training_file',
  'training_files',
  'validation_file',
  'validation_files',
  'response_id',
  'batch_id',
  'upload_id',
  'video_id',
  'thread_id',
  'assistant_id',
  'agent',
  'agents',
  'agent_id',
  'predefined_agents',
  'eval_id',
  'eval_ids',
  'run_id',
  'session_id',
  'session_ids',
  'session_thread_id',
  'environment_id',
  'memory_store_id',
  'dataset_id',
  'input_dataset_id',
  'message_batch_id',
] as const

/** Models of tools that ask another one, of OpenRouter's plugins, and to fall back on at Vercel's gateway. */
const BESIDE = [
  'tools.model',
  'tools.parameters.model',
  'plugins.model',
  'plugins.models',
  'plugins.allowed_models',
  'providerOptions.gateway.models',
  'provider_options.gateway.models',
] as const
const NOTHING = /\/(?:embeddings|moderations|rerank|audio\/(?!transcriptions)[\w/]+|tokenize|detokenize)$/
/** The first that fits is meant; `ENDPOINT_OF_ALL` where none does. */
const ENDPOINTS: readonly Endpoint[] = [
  // Cloudflare's queue: what was put into it is asked for where work is ordered.
  {
    path: /\/(?:ai\/run\/.|workers-ai\/@)/,
    ids: [...ALL, 'request_id'],
    models: ['model', 'model.id'],
    takesAnything: true,
  },
  // Vercel's library, which asks for batches by POST.
  { path: /\/ai\/batch\/\w+$/, ids: ALL, models: ['modelId', 'requests.modelId'] },
  { path: NOTHING, ids: [] },
  { path: /\/agents\/completions$/, ids: [...FILES, 'agent_id'], models: ['model'] },
  // Google's own endpoint of that name takes `extra_body: {google: {cached_content}}`.
  {
    path: /\/completions$/,
    ids: [...FILES, 'cached_content'],
    modelsBeside: BESIDE,
    stems: ['file_id', 'cached_content'],
  },
  {
    path: /\/messages(?:\/count_tokens)?$/,
    ids: MESSAGES,
    modelsBeside: BESIDE,
    stems: ['file_id', 'ill_id', '"conta'],
  },
  { path: /\/messages\/batches$/, ids: MESSAGES, models: ['requests.params.model'] },
  { path: /\/batch\/jobs$/, ids: ALL, models: ['model', 'requests.body.model'] },
  // The second is Together's.
  { path: /\/batches$/, ids: ALL, models: ['model', 'model_id'] },
  {
    path: /\/responses(?:\/input_tokens|\/compact)?$/,
    ids: RESPONSES,
    items: ['input.id', 'response.input.id'],
    // In a session's messages it may stand in `response`.
    models: ['model', 'response.model'],
    modelsBeside: BESIDE,
    types: [
      { path: 'tools.type', tag: 'tool' },
      { path: 'tools.model', tag: 'tool_model' },
    ],
  },
  { path: /\/conversations(?:\/[^/]+(?:\/items)?)?$/, ids: ALL, items: ['items.id'], models: ['model'] },
  {
    path: /:(?:stream)?generatecontent$|:count(?:text|message)?tokens$|:(?:retrievecontexts|augmentprompt)$/,
    ids: GOOGLES,
  },
  // A session's messages.
  { path: /[./]bidigeneratecontent(?:constrained)?$/, ids: GOOGLES, models: ['setup.model'] },
  { path: /:predictlongrunning$/, ids: GOOGLES, at: ['instances.video.uri'] },
  { path: /:fetchpredictoperation$/, ids: GOOGLES },
  { path: /:generateanswer$/, ids: GOOGLES, at: ['semantic_retriever.source', 'semanticRetriever.source'] },
  { path: /\/interactions$/, ids: [...ALL, 'uri'], models: ['model'] },
  {
    path: /\/evals\/[^/]+\/runs$/,
    ids: ALL,
    at: ['data_source.source'],
    models: ['data_source.**.model'],
    types: [{ path: 'data_source.source.type', tag: 'data_source' }],
  },
  {
    path: /\/evals$/,
    ids: ALL,
    models: ['testing_criteria.**.model', 'data_source_config.**.model'],
    types: [{ path: 'data_source_config.type', tag: 'eval_source' }],
  },
  { path: /\/fine_tuning\/jobs$/, ids: ALL, models: ['model', 'method.**.model'] },
  { path: /\/graders\/\w+$/, ids: ALL, models: ['grader.**.model'] },
  { path: /\/threads\/runs$/, ids: ALL, models: ['model', 'assistant.model'] },
  { path: /\/videos(?:\/.+)?$/, ids: ALL, at: ['input_reference', 'video', 'characters'], models: ['model'] },
  { path: /\/(?:images\/\w+|audio\/transcriptions)$/, ids: FILES, models: ['model'] },
  // An answer that OpenRouter keeps, by its id.
  { path: /\/generation(?:\/\w+)?$/, ids: ['generation_id', 'generation_ids'] },
  { path: /\/uploads$/, ids: ALL, types: [{ path: 'purpose', tag: 'upload_purpose' }] },
]
const ENDPOINT_OF_OBJECTS: Endpoint = { path: /$/, ids: ALL, models: ['model', 'model.id'] }
const ENDPOINT_OF_ALL: Endpoint = { ...ENDPOINT_OF_OBJECTS, takesAnything: true }

/** Lines of a batch's file: `body` of OpenAI's and Mistral's, `request` of Google's, for any endpoint of theirs. */
const LINE: Endpoint = {
  path: /$/,
  ids: ALL,
  at: ['body.input_reference', 'body.video'],
  items: ['body.input.id'],
  models: ['body.model', 'body.tools.model'],
}

/** Containers that tools made for a call, in answers and in their events: Anthropic's, then OpenAI's. */
const ANSWER: Endpoint = {
  path: /$/,
  ids: [],
  models: [],
  at: [
    'container',
    'message.container',
    'delta.container',
    'output.container_id',
    'item.container_id',
    'response.output.container_id',
  ],
}

/** The id of an answer that Vercel keeps, where its streams have it: one of Anthropic's, then of its own library. */
const KEPT: Endpoint = {
  path: /$/,
  ids: [],
  models: [],
  at: ['message.id', 'provider_metadata.gateway.generationId', 'providerMetadata.gateway.generationId'],
}

const TYPES_THAT_READ_IDS: Readonly<Record<string, ReadonlySet<string>>> = {
  data_source: new Set(['file_content', 'file_id']),
  eval_source: new Set(['custom']),
}

/**
 * Tells whether a type at a `NameTag`'s path means what the whole account has: stored completions, logs and responses
 * of all clients; or a batch's file in parts, whose lines are not seen whole.
 */
export function readsWholeAccount(tag: NameTag, value: string): boolean {
  if (tag === 'upload_purpose') return value === 'batch'
  return TYPES_THAT_READ_IDS[tag]?.has(value) === false
}

/** An endpoint that keeps objects takes JSON, whatever else of it is known. */
function elsewhere(canonicalPath: string): Endpoint {
  const { names, collection } = readObjectPath(canonicalPath)
  return names.length > 0 || collection !== null ? ENDPOINT_OF_OBJECTS : ENDPOINT_OF_ALL
}

const compiled = new Map<Endpoint, NamedPaths>()
const known = new Map<string, NamedPaths>()
const MAX_KNOWN = 2_000

/** The names in bodies of this path. @param canonicalPath As `canonicalPath` gives it. */
export function namedPaths(canonicalPath: string): NamedPaths {
  const before = known.get(canonicalPath)
  if (before !== undefined) return before
  const path = canonicalPath.toLowerCase()
  const found = pathsOf(ENDPOINTS.find((endpoint) => endpoint.path.test(path)) ?? elsewhere(canonicalPath))
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(canonicalPath, found)
  return found
}

/** The names in a line of an uploaded file. */
export const LINE_WALK: NameWalk = pathsOf(LINE).walk

/** The names in an answer of what its call has made beside itself. */
export const ANSWER_WALK: NameWalk = pathsOf(ANSWER).walk

/** The names in an answer by which it can be read again. */
export const KEPT_WALK: NameWalk = pathsOf(KEPT).walk

function pathsOf(endpoint: Endpoint): NamedPaths {
  let paths = compiled.get(endpoint)
  if (paths === undefined) {
    const { ids, at = [], items = [], types = [], stems = null } = endpoint
    const { models = ['model'], modelsBeside = [] } = endpoint
    const wanted: WantedPath<NameTag>[] = [
      ...(stems === null ? ids.flatMap(spellings) : ids).map((name) => ({
        path: `**.${name}`,
        tag: 'id' as const,
        inner: 'id',
      })),
      ...at.map((path) => ({ path, tag: 'id' as const, inner: 'id' })),
      ...items.map((path) => ({ path, tag: 'item' as const })),
      ...models.map((path) => ({ path, tag: stems === null ? ('model' as const) : ('tuned' as const) })),
      ...modelsBeside.map((path) => ({ path, tag: 'model' as const })),
      ...types,
    ]
    const parts = ids.length === 0 ? [] : stems
    paths = {
      walk: compilePaths(wanted),
      hints: parts === null ? null : new NameHints(parts),
      isKnown: endpoint.takesAnything !== true && ids.length > 0,
      readsForms: endpoint !== ENDPOINT_OF_ALL && ids.length > 0,
    }
    compiled.set(endpoint, paths)
  }
  return paths
}

/** As it is written, and as Google's JSON takes it too: without `_`. Case does not count. */
function spellings(name: string): readonly string[] {
  return name.includes('_') ? [name, name.replaceAll('_', '')] : [name]
}
