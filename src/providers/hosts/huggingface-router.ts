import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Hosts behind the router that the catalog has lists of. */
const HOSTS = [
  'cerebras',
  'fireworks-ai',
  'groq',
  'hyperbolic',
  'nebius',
  'novita',
  'nscale',
  'ovhcloud',
  'publicai',
  'sambanova',
  'together',
] as const

/** Hugging Face's router to several hosts. */
export const huggingFaceRouter: HostedProvider = {
  hosts: ['router.huggingface.co'],
  credential: BEARER,
  catalog: {
    lists: HOSTS.map((host) => `huggingface_${host}`),
    requestNamesModel: true,
    // The host is the suffix that the client chose (`org/model:together`); without one it is not known.
    places(model) {
      const colon = model.lastIndexOf(':')
      if (colon < 0) return []
      return [{ providerId: `huggingface_${model.slice(colon + 1)}`, name: model.slice(0, colon) }]
    },
  },
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [],
}
