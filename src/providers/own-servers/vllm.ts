import type { Dialect } from '../dialect.ts'
import { type Endpoint, endpoint } from '../dialect.ts'
import { COHERE_V2_ENDPOINTS } from '../makers/cohere.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { VLLM_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { arrayIn, objectIn } from '../reading/json-value.ts'
import { INVOCATIONS } from '../tgi/invocations.ts'

/**
 * Tokens in, tokens out. A stream tells its usage where it is asked for, and older versions tell none: each id in the
 * answer is a token then.
 * Source: vLLM's `entrypoints/serve/disagg/protocol.py` and `serving.py`.
 */
const generate: Dialect = {
  ...openAiChat(USAGE_IF_ASKED),
  name: 'vllm.generate',
  outputBound: 'settings',
  isChat: false,
  textOf: (json) =>
    arrayIn(objectIn(json)?.choices)
      .map((choice) => TOKEN.repeat(arrayIn(objectIn(choice)?.token_ids).length))
      .join(''),
}

/** A text of one token to every tokenizer, however often it is repeated. */
const TOKEN = ' a'

/** The endpoints that vLLM alone has. An endpoint of Amazon's own may have any server behind it. */
export const VLLM_ENDPOINTS: readonly Endpoint[] = [
  INVOCATIONS,
  endpoint('POST', /\/inference\/v1\/generate$/, generate),
]

/** vLLM. */
export const vllm: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [...VLLM_ENDPOINTS, ...COHERE_V2_ENDPOINTS],
  freePaths: [{ patterns: ['POST /ping', 'POST /health'], why: 'tells whether the server is up' }],
  refusedPaths: [VLLM_REFUSED],
}
