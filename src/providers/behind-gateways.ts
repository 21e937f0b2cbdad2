import { BEDROCK_ENDPOINTS } from './bedrock/bedrock-endpoints.ts'
import type { Endpoint } from './endpoint.ts'
import { GEMINI_ENDPOINTS, VERTEX_PARTNER_ENDPOINTS } from './google/google-endpoints.ts'
import { COHERE_V2_ENDPOINTS } from './others/cohere.ts'

/** Gateways before several providers keep those providers' paths. */
export const BEHIND_GATEWAYS: readonly Endpoint[] = [
  ...GEMINI_ENDPOINTS,
  ...VERTEX_PARTNER_ENDPOINTS,
  ...BEDROCK_ENDPOINTS,
  ...COHERE_V2_ENDPOINTS,
]
