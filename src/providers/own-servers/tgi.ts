import { endpoint } from '../endpoint.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { tgiGenerate } from '../others/tgi-native.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** Hugging Face's Text Generation Inference. */
export const tgi: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  openAi: USAGE_IF_ASKED,
  // Also `/`, and `/models/{owner}/{name}` of the hosted service.
  endpoints: [endpoint('POST', /^$|\/generate(?:_stream)?$|\/models\/[^/]+\/[^/]+$/, tgiGenerate)],
}
