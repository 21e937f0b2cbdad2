import { messagesWithCost } from '../anthropic/anthropic-messages.ts'
import { passesBy } from '../direct-access.ts'
import { type Endpoint, endpoint, fetching, postTo } from '../endpoint.ts'
import { evalRun, evalRuns } from '../jobs/eval-runs.ts'
import { fineTuningJob, fineTuningJobs } from '../jobs/fine-tuning.ts'
import { jobFile } from '../jobs/job-files.ts'
import { openAiBatch, openAiBatches } from '../jobs/openai-batches.ts'
import { openAiTranscriptions } from '../media/openai-audio.ts'
import { openAiImages } from '../media/openai-images.ts'
import { azureVideoJobs, openAiVideos } from '../media/openai-videos.ts'
import { openAiSpeech } from '../media/speech.ts'
import { openAiChat, openAiCompletions } from './openai-chat.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { openAiEmbeddings, openAiModerations, openAiRerank } from './openai-prompt-only.ts'
import { openAiResponses } from './openai-responses.ts'
import { openAiContainers, vectorStoreSearch } from './openai-services.ts'
import { realtime } from './realtime/realtime.ts'

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
    fetching('GET', /(?<!\/messages)\/batches\/[^/]+$/, openAiBatch),
    fetching('GET', /(?<!\/messages)\/batches$/, openAiBatches),
    fetching('GET', /\/fine_tuning\/jobs\/[^/]+$/, fineTuningJob),
    fetching('GET', /\/fine_tuning\/jobs$/, fineTuningJobs),
    fetching('GET', /\/evals\/[^/]+\/runs\/[^/]+$/, evalRun),
    fetching('GET', /\/evals\/[^/]+\/runs$/, evalRuns),
    fetching('GET', /\/files\/[^/]+\/content$/, jobFile),
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
  /\/realtime\/(?:client_secrets|sessions|transcription_sessions|translations\/client_secrets|calls(?:\/[^/]+\/accept)?)$|\/(?:chatkit|live)\/sessions$|\/auth_tokens$/

/** A film that is made of another runs that one's model. */
export const VIDEO_ENDPOINTS: readonly Endpoint[] = [
  endpoint('POST', /\/videos$/, openAiVideos),
  endpoint('POST', /\/videos\/(?:edits|extensions|[^/]+\/remix)$/, { ...openAiVideos, hidesModel: true }),
]

/** What OpenAI bills beside its models, and Azure after it. */
export const OPENAI_OWN_ENDPOINTS: readonly Endpoint[] = [
  postTo('/v1/containers', openAiContainers),
  endpoint('POST', /\/vector_stores\/[^/]+\/search$/, vectorStoreSearch),
  ...VIDEO_ENDPOINTS,
]

/** What Azure has beside its models: OpenAI's services, and the first Sora. */
export const AZURE_ENDPOINTS: readonly Endpoint[] = [
  ...OPENAI_OWN_ENDPOINTS,
  postTo('/video/generations/jobs', azureVideoJobs),
]
