import { listedAs } from '../catalog-lists.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Z.ai itself. */
export const zai: HostedProvider = {
  hosts: ['api.z.ai', 'open.bigmodel.cn'],
  credential: BEARER,
  catalog: listedAs('zai'),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [],
}
