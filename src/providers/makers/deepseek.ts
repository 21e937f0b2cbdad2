import { madeAndListedAs } from '../catalog-lists.ts'
import { USAGE_UNASKED } from '../openai/openai-overrides.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** DeepSeek itself. */
export const deepseek: HostedProvider = {
  hosts: ['api.deepseek.com'],
  credential: BEARER,
  catalog: madeAndListedAs('deepseek', ['deepseek', 'deepseek-ai']),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_UNASKED,
  endpoints: [],
}
