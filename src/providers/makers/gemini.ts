import { GEMINI_ENDPOINTS, GOOGLE_ANSWER_FORM, GOOGLE_OVERRIDES } from '../google/google-endpoints.ts'
import { bareGoogleName } from '../google/google-path.ts'
import { GOOGLE_ADDRESSES } from '../own-addresses.ts'
import { GOOGLE_FREE } from '../paths/free-paths.ts'
import { GOOGLE_REFUSED } from '../paths/refused-paths.ts'
import { type HostedProvider, keyHeader } from '../provider.ts'

/** Gemini at Google AI Studio. */
export const gemini: HostedProvider = {
  hosts: ['generativelanguage.googleapis.com'],
  credential: keyHeader('x-goog-api-key'),
  modelListPath: '/v1beta/models?pageSize=1000',
  catalog: {
    lists: ['google'],
    makerPrefixes: ['google', 'google-ai-studio', 'google-vertex-ai', 'gemini'],
    // `models/gemini-...`, as Gemini's own list names them.
    places: (model) => [{ providerId: 'google', name: bareGoogleName(model) }],
  },
  apis: ['google'],
  ownPaths: ['**/v1beta/**', '/upload/**'],
  openAi: GOOGLE_OVERRIDES,
  endpoints: GEMINI_ENDPOINTS,
  answerForm: GOOGLE_ANSWER_FORM,
  hidesReasoning: true,
  ownAddresses: GOOGLE_ADDRESSES,
  freePaths: GOOGLE_FREE,
  billedApartPaths: [
    {
      patterns: [
        '* **/cachedContents/*',
        '* **/corpora',
        '* **/corpora/**',
        '* **/corpora/*:query',
        '* **/fileSearchStores/**',
        '* **/tunedModels',
        '* **/tunedModels/*',
        'POST **:batchEmbedText',
        'POST **:embedText',
        'POST **:generateAnswer',
        'POST **:generateMessage',
        'POST **:generateText',
        'POST **:asyncBatchEmbedContent',
        '* **/agents',
        '* **/decisions',
        '* **/environments',
        '* **/environments/**',
        '* **/triggers',
        '* **/triggers/**',
        '* **/voices',
      ],
      why: 'billed by storage, search, training or run, or read by the generic reader alone',
    },
  ],
  refusedPaths: [GOOGLE_REFUSED],
  collections: {
    cachedcontents: 'cached_content',
    interactions: 'interaction',
    tunedmodels: 'tuned_model',
    filesearchstores: 'file_search_store',
    corpora: 'file_search_store',
    operations: 'operation',
    triggers: 'agent',
    // Voices elsewhere are the provider's.
    'v1beta/voices': 'file',
  },
}
