import { postTo } from '../endpoint.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { lmStudioChat } from '../others/lmstudio-chat.ts'
import { SERVER } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** LM Studio. */
export const lmStudio: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [postTo('/api/v1/chat', lmStudioChat)],
  refusedPaths: [
    {
      patterns: ['POST **/models/load', 'POST **/models/unload', 'POST **/models/download'],
      why: SERVER,
    },
  ],
}
