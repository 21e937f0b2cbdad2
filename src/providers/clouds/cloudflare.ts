import { BEHIND_GATEWAYS } from '../behind-gateways.ts'
import { endpoint } from '../endpoint.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { cloudflareRun } from '../others/cloudflare-run.ts'
import { GOOGLE_FREE } from '../paths/free-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Cloudflare's Workers AI, and its gateway to other makers with the operator's keys. */
export const cloudflare: HostedProvider = {
  hosts: ['gateway.ai.cloudflare.com', 'api.cloudflare.com'],
  credential: BEARER,
  catalog: {
    lists: ['cloudflare'],
    passesOn: true,
    places(model, findMaker) {
      const name = model.startsWith('workers-ai/') ? model.slice('workers-ai/'.length) : model
      // Its own models carry `@cf/`.
      if (name.startsWith('@cf/')) return [{ providerId: 'cloudflare', name }]
      const made = findMaker(name)
      return made === null ? [] : [made]
    },
  },
  apis: ['openai', 'anthropic', 'google', 'bedrock', 'ollama', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [endpoint('POST', /\/ai\/run\/./, cloudflareRun(USAGE_IF_ASKED)), ...BEHIND_GATEWAYS],
  freePaths: GOOGLE_FREE,
}
