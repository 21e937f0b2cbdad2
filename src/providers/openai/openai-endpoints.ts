import { messagesWithCost } from '../anthropic/anthropic-messages.ts'
import type { Dialect } from '../dialect.ts'
import { type Endpoint, endpoint, fetching, postTo } from '../dialect.ts'
import { jobFile } from '../jobs/job-files.ts'
import {
  evalRun,
  evalRuns,
  fineTuningJob,
  fineTuningJobs,
  openAiBatch,
  openAiBatches,
} from '../jobs/openai-jobs.ts'
import { openAiImages } from '../media/openai-images.ts'
import { azureVideoJobs, openAiVideos } from '../media/openai-videos.ts'
import { openAiSpeech, openAiTranscriptions } from '../media/sound.ts'
import { gigabytesIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { jsonDialect, requestDialect } from '../reading/json-dialect.ts'
import { textIn } from '../reading/json-value.ts'
import { openAiChat, openAiCompletions } from './openai-chat.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { openAiEmbeddings, openAiModerations, openAiRerank } from './openai-prompt-only.ts'
import { openAiResponses } from './openai-responses.ts'
import { realtime } from './realtime.ts'

/**
 * Credentials with which a client talks to the provider by itself, and calls whose media go between the two (WebRTC):
 * refused unless the operator allows them. Then they have no cost and an unpriced reason of their own, as the gateway
 * sees none of it.
 */
const passesBy: Dialect = jsonDialect({
  name: 'passes-by',
  fields: {},
  prefilter: [],
  readsRequest: false,
  countsTokens: false,
  billsUnits: true,
  passesBy: true,
  hidesModel: true,
})

/** OpenAI-style endpoints, known by the end of the path: prefixes differ from provider to provider. */
export function openAiEndpoints(overrides: OpenAiOverrides): readonly Endpoint[] {
  const responses = openAiResponses(overrides)
  const imagesFromForms = openAiImages(overrides, true)
  const transcriptions = openAiTranscriptions(overrides)
  const rerank = openAiRerank(overrides)
  return [
    endpoint('GET', /\/realtime$/, realtime),
    postTo('/chat/completions', openAiChat(overrides)),
    postTo('/responses', responses),
    postTo('/embeddings', openAiEmbeddings(overrides)),
    postTo('/v1/messages', messagesWithCost(overrides.readCost)),
    postTo('/completions', openAiCompletions(overrides)),
    postTo('/responses/compact', responses),
    // Fetching a response reports the usage of one that ran in the background; cancelling one does too.
    fetching('GET', /\/responses\/[^/]+$/, responses),
    fetching('POST', /\/responses\/[^/]+\/cancel$/, responses),
    // The WebSocket mode.
    endpoint('GET', /\/responses$/, responses),
    fetching('GET', /(?<!\/messages)\/batches\/[^/]+$/, openAiBatch(overrides.readCost)),
    fetching('GET', /(?<!\/messages)\/batches$/, openAiBatches(overrides.readCost)),
    fetching('GET', /\/fine_tuning\/jobs\/[^/]+$/, fineTuningJob),
    fetching('GET', /\/fine_tuning\/jobs$/, fineTuningJobs),
    fetching('GET', /\/evals\/[^/]+\/runs\/[^/]+$/, evalRun),
    fetching('GET', /\/evals\/[^/]+\/runs$/, evalRuns),
    fetching('GET', /\/files\/[^/]+\/content$/, jobFile(overrides)),
    postTo('/images/generations', openAiImages(overrides, false)),
    postTo('/images/edits', imagesFromForms),
    postTo('/images/variations', imagesFromForms),
    postTo('/audio/transcriptions', transcriptions),
    postTo('/audio/translations', transcriptions),
    postTo('/audio/speech', openAiSpeech(overrides)),
    postTo('/moderations', openAiModerations),
    postTo('/rerank', rerank),
    postTo('/score', rerank),
    postTo('/classify', rerank),
    postTo('/pooling', rerank),
    endpoint('POST', PASSING_BY, passesBy),
  ]
}

/** Makes a credential, or a call whose media go past the gateway. */
const PASSING_BY =
  /\/realtime\/(?:(?:translations\/)?client_secrets|sessions|transcription_sessions|(?:translations\/)?calls(?:\/[^/]+\/accept)?)$|\/(?:chatkit|live|realtimeapi)\/sessions$|\/auth_tokens$/

/** A film that is made of another runs that one's model. */
export const VIDEO_ENDPOINTS: readonly Endpoint[] = [
  endpoint('POST', /\/videos$/, openAiVideos),
  endpoint('POST', /\/videos\/(?:edits|extensions|[^/]+\/remix)$/, { ...openAiVideos, hidesModel: true }),
]

const PREFILTER = ['error']

/**
 * A container of the code interpreter, by its memory in GB, as its price is for one: one session. That it lives on, or
 * comes to life again, is not seen. Source: OpenAI's API reference, "Create container";
 * developers.openai.com/api/docs/pricing, "Containers".
 */
const openAiContainers: Dialect = requestDialect({
  name: 'openai.containers',
  fields: { memory_limit: 'value', error: 'value' },
  prefilter: PREFILTER,
  requestFields: { memory_limit: 'value' },
  readRequest: ({ fields, isRead }) =>
    isRead ? { model: 'container', units: { codeRuns: sessionsOf(fields.memory_limit) } } : {},
  readAnswer: (document, _raw, { isRead }) => ({
    ...(isRead && textIn(document.memory_limit) !== null
      ? { units: { codeRuns: sessionsOf(document.memory_limit) } }
      : {}),
    failed: carriesError(document),
  }),
})

/** 1 where nothing is said; `null`: what it says is not known. */
function sessionsOf(limit: unknown): number | null {
  return limit === undefined || limit === null ? 1 : gigabytesIn(limit)
}

/** A search of a vector store, by the call. Source: OpenAI's API reference, "Search vector store". */
const vectorStoreSearch: Dialect = requestDialect({
  name: 'openai.vector-store-search',
  fields: { error: 'value' },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: ({ isRead }) => (isRead ? { model: 'vector-store-search', units: { fileSearches: 1 } } : {}),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})

/** The services that OpenAI bills beside its models, and Azure after it. */
export const OPENAI_OWN_ENDPOINTS: readonly Endpoint[] = [
  postTo('/v1/containers', openAiContainers),
  endpoint('POST', /\/vector_stores\/[^/]+\/search$/, vectorStoreSearch),
  ...VIDEO_ENDPOINTS,
]

/** The services that Azure has beside its models: OpenAI's services, and the first Sora. */
export const AZURE_ENDPOINTS: readonly Endpoint[] = [
  ...OPENAI_OWN_ENDPOINTS,
  postTo('/video/generations/jobs', azureVideoJobs),
]
