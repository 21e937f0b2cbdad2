import type { ObjectPath } from './object-path.ts'

/** Ends of the names of members that hold ids, with the names that have them. */
const FILE_ID = ['file_id', 'file_ids'] as const
const GOOGLES = [
  'fileUri',
  'file_uri',
  'cachedContent',
  'cached_content',
  'fileSearchStoreNames',
  'file_search_store_names',
  'fileName',
  'file_name',
  'operationName',
  'previous_interaction_id',
] as const
const RESPONSES = [
  ...FILE_ID,
  'previous_response_id',
  'conversation',
  'vector_store_ids',
  'container',
  'skill_id',
] as const

/** Where a body is long and text, only what that endpoint takes is searched for. */
const BY_VERB: Readonly<Record<string, readonly string[]>> = {
  completions: FILE_ID,
  messages: [...FILE_ID, 'container', 'skill_id'],
  responses: RESPONSES,
  embeddings: [],
}
const ALL = [
  ...RESPONSES,
  ...GOOGLES,
  'input_file_id',
  'input_files',
  'training_file',
  'training_files',
  'validation_file',
  'validation_files',
  'vector_store_id',
  'conversation_id',
  'container_id',
  'response_id',
  'batch_id',
  'thread_id',
  'assistant_id',
  'agent_id',
  'eval_id',
  'library_ids',
  'dataset_id',
] as const

export interface Search {
  readonly names: ReadonlySet<string>
  /** Text that stands in at least one of `names`, and every name holds one of. */
  readonly needles: readonly Buffer[]
}

/** One search finds all names with such a part; what begins with a byte that is rare in text is fast to search for. */
const STEMS = [
  '_id',
  '_file',
  '_uri',
  '_content',
  '_store',
  '_name',
  '"con',
  'Uri',
  'Content',
  'Store',
  'Name',
]

function searchOf(names: readonly string[]): Search {
  const needed = new Set(names.map((name) => STEMS.find((stem) => `"${name}"`.includes(stem)) ?? `"${name}"`))
  return { names: new Set(names), needles: [...needed].map((stem) => Buffer.from(stem)) }
}

const SEARCH_ALL = searchOf(ALL)
const SEARCHES = new Map(Object.entries(BY_VERB).map(([verb, names]) => [verb, searchOf(names)]))
const GENERATE = searchOf(GOOGLES)

export function searchFor({ verb }: ObjectPath): Search {
  if (verb.endsWith('generatecontent') || verb === 'counttokens') return GENERATE
  return SEARCHES.get(verb) ?? SEARCH_ALL
}
