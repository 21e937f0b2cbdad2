import { endpoint, postTo } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { INVOCATIONS } from '../tgi/invocations.ts'
import { tgiGenerate, tgiVertex } from '../tgi/tgi-generate.ts'

/** Hugging Face's Text Generation Inference. */
export const tgi: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  openAi: USAGE_IF_ASKED,
  // Also `/`, and `/models/{owner}/{name}` of the hosted service.
  endpoints: [
    INVOCATIONS,
    postTo('/vertex', tgiVertex),
    endpoint('POST', /^$|\/generate(?:_stream)?$|\/models\/[^/]+\/[^/]+$/, tgiGenerate),
  ],
}
