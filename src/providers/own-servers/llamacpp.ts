import { endpoint } from '../endpoint.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { llamaCppCompletion } from '../others/llamacpp-native.ts'
import { LLAMACPP_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** llama.cpp's server. */
export const llamaCpp: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  // `/completions` is its own only outside `/v1`.
  endpoints: [
    endpoint('POST', /\/(?:completion|infill)$|(?<!\/v1|\/chat)\/completions$/, llamaCppCompletion),
  ],
  freePaths: [{ patterns: ['POST **/apply-template'], why: 'writes a prompt out, generates nothing' }],
  refusedPaths: [LLAMACPP_REFUSED],
}
