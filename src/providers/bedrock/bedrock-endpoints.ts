import { type Endpoint, endpoint, postTo } from '../endpoint.ts'
import { bedrockConverse } from './bedrock-converse.ts'
import { bedrockGuardrail } from './bedrock-guardrail.ts'
import { bedrockInvoke } from './bedrock-invoke.ts'
import { bedrockAsyncInvoke, bedrockImages, bedrockRankInvoke } from './bedrock-media.ts'

/** Bedrock's runtime, also behind other gateways. */
export const BEDROCK_ENDPOINTS: readonly Endpoint[] = [
  endpoint('POST', /\/model\/.+\/(?:converse|converse-stream)$/, bedrockConverse),
  // These draw or rank, and are not billed by tokens.
  endpoint('POST', /\/model\/.*(?:nova-canvas|titan-image|stability\.).*\/invoke$/, bedrockImages),
  endpoint('POST', /\/model\/.*\.rerank-.*\/invoke$/, bedrockRankInvoke),
  endpoint('POST', /\/guardrail\/.+\/apply$/, bedrockGuardrail),
  postTo('/async-invoke', bedrockAsyncInvoke),
  endpoint('POST', /\/model\/.+\/(?:invoke|invoke-with-response-stream)$/, bedrockInvoke),
]
