import { listedAs } from '../catalog-lists.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Moonshot AI itself. Unasked, usage stands inside the last choice (earendil-works/pi issue 2017). */
export const moonshotAi: HostedProvider = {
  hosts: ['api.moonshot.ai', 'api.moonshot.cn'],
  credential: BEARER,
  catalog: listedAs('moonshotai'),
  apis: ['openai', 'anthropic'],
  isBelowV1: true,
  openAi: { takesIncludeUsage: true, usageInChoices: true },
  endpoints: [],
}
