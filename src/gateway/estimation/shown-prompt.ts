import { WHOLE_BYTES } from '../../lib/sliced-work.ts'
import { holdsOnly, type Known } from './known-members.ts'

// Members of requests whose bytes are all that the model reads, in all formats. A member that is not named here may
// fetch, remember or search: new ones come every month, so what is unknown is never taken for harmless.

const PLAIN: Known = new Map()

function any(...names: readonly string[]): readonly (readonly [string, Known])[] {
  return names.map((name) => [name, 'any'] as const)
}

function plain(...names: readonly string[]): readonly (readonly [string, Known])[] {
  return names.map((name) => [name, PLAIN] as const)
}

/** How to write the answer, and how much of it. */
const SETTINGS = [
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tokens_to_sample', 'max_gen_len'],
  ...['maxTokens', 'maxOutputTokens', 'max_new_tokens', 'maxTokenCount', 'num_predict', 'n_predict'],
  ...[
    'temperature',
    'top_p',
    'topP',
    'top_k',
    'topK',
    'p',
    'k',
    'min_p',
    'typical_p',
    'min_tokens',
    'ignore_eos',
  ],
  ...['n', 'best_of', 'candidateCount', 'candidate_count', 'seed', 'random_seed', 'echo', 'details'],
  ...[
    'stop',
    'stop_sequences',
    'stopSequences',
    'logprobs',
    'top_logprobs',
    'logit_bias',
    'responseLogprobs',
  ],
  ...['presence_penalty', 'frequency_penalty', 'presencePenalty', 'frequencyPenalty', 'repetition_penalty'],
  ...['repeat_penalty', 'num_ctx', 'do_sample', 'return_full_text', 'verbosity'],
  ...['responseMimeType', 'response_mime_type', 'responseSchema', 'response_schema', 'responseJsonSchema'],
]

/** Tools that the client runs, by definitions that the request holds. */
const TOOLS: Known = new Map([
  ['type', new Set(['function', 'custom'])],
  ...any(
    'function',
    'name',
    'description',
    'parameters',
    'strict',
    'input_schema',
    'format',
    'cache_control',
  ),
  ...any('functionDeclarations', 'function_declarations', 'toolSpec', 'cachePoint'),
])

/** Content that is text. Pictures, sound and files are more tokens than their bytes can tell. */
const PART = new Map<string, Known>([
  [
    'type',
    new Set([
      'text',
      'input_text',
      'output_text',
      'refusal',
      'tool_use',
      'tool_result',
      'tool-call',
      'function',
    ]),
  ],
  ...plain('text', 'refusal', 'tool_use_id', 'is_error', 'name', 'id', 'toolUseId', 'status'),
  ...any('input', 'annotations', 'logprobs', 'citations', 'cache_control', 'cachePoint', 'json'),
  ...any('functionCall', 'function_call', 'toolUse'),
])
PART.set('content', PART)
PART.set('toolResult', PART)
for (const name of ['functionResponse', 'function_response']) {
  PART.set(name, new Map([...plain('name', 'id'), ...any('response')]))
}

/** An item with an id may stand for one that the provider keeps. */
const MESSAGE = new Map<string, Known>([
  [
    'type',
    new Set([
      'message',
      'function_call',
      'function_call_output',
      'custom_tool_call',
      'custom_tool_call_output',
    ]),
  ],
  ...[...PART].filter(([name]) => name !== 'type' && name !== 'id'),
  ...['content', 'parts', 'output'].map((name) => [name, PART] as const),
  ...plain(
    'role',
    'message',
    'tool_call_id',
    'call_id',
    'tool_name',
    'arguments',
    'prefix',
    'phase',
    'input',
  ),
  ...any('tool_calls'),
])

/** What a request has to have one of, so that there is a prompt in it at all. */
const PROMPTS = new Map<string, Known>([
  ...['messages', 'contents', 'content', 'chat_history', 'requests'].map((name) => [name, MESSAGE] as const),
  ...plain('prompt', 'inputs', 'inputText', 'message', 'texts', 'query'),
  ['input', MESSAGE],
])

const REQUEST = new Map<string, Known>([
  ...PROMPTS,
  ...any(...SETTINGS),
  ...['system', 'systemInstruction', 'system_instruction'].map(
    (name) => [name, new Map([...PART, ['parts', PART], ...plain('role')])] as const,
  ),
  ...plain('instructions', 'preamble', 'suffix'),
  ['documents', new Map(plain('text', 'title', 'id'))],
  ['tools', TOOLS],
  [
    'toolConfig',
    new Map([['tools', TOOLS], ...any('toolChoice', 'functionCallingConfig', 'function_calling_config')]),
  ],
  ...['generationConfig', 'generation_config', 'inferenceConfig', 'textGenerationConfig', 'parameters'].map(
    (name) => [name, new Map(any(...SETTINGS))] as const,
  ),
  ...any(
    'model',
    'stream',
    'stream_options',
    'user',
    'metadata',
    'store',
    'service_tier',
    'speed',
    'options',
  ),
  ...any(
    'response_format',
    'text',
    'format',
    'tool_choice',
    'parallel_tool_calls',
    'functions',
    'function_call',
  ),
  ...any('safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'truncation', 'include', 'raw'),
  ...any(
    'safetySettings',
    'safety_settings',
    'anthropic_version',
    'anthropic_beta',
    'cache_control',
    'keep_alive',
  ),
  ...any('encoding_format', 'dimensions', 'input_type', 'top_n', 'return_documents', 'truncate', 'taskType'),
  ...any('embedding_types', 'outputDimensionality', 'title'),
])

/** Names of models that search, read or run programs by themselves, and of prompts that the provider keeps. */
const FETCHES = /search|sonar|online|browse|research|compound|computer-use|(?:^|[:/])prompt\//i

/**
 * Whether the request's bytes hold all that its model reads as text, so that they decide how many tokens the prompt has.
 * False where the provider adds what it finds, keeps or runs: tools of its own, earlier turns, stored prompts, files by
 * reference. False too for pictures, sound and documents, and whenever in doubt.
 *
 * @param requestBody `null`: not read. A body above {@link WHOLE_BYTES} is in doubt: to look at it would hold up others.
 * @param models as the request and the answer name them
 */
export function showsItsPrompt(requestBody: Buffer | null, models: readonly (string | null)[]): boolean {
  if (requestBody === null || requestBody.length > WHOLE_BYTES) return false
  if (models.some((model) => model !== null && FETCHES.test(model))) return false
  let hasPrompt = false
  const isKnown = holdsOnly(requestBody, REQUEST, (name) => {
    hasPrompt ||= PROMPTS.has(name)
  })
  return isKnown && hasPrompt
}
