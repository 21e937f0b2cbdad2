import { listedAs } from '../catalog-lists.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Cerebras. */
export const cerebras: HostedProvider = {
  hosts: ['api.cerebras.ai'],
  credential: BEARER,
  catalog: listedAs('cerebras'),
  isBelowV1: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [],
}
