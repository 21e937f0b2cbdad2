import { anthropicComplete } from './anthropic/anthropic-complete.ts'
import { anthropicMessages } from './anthropic/anthropic-messages.ts'
import type { Dialect, Provider } from './dialect.ts'
import { passesBy } from './direct-access.ts'
import { type Endpoint, endpoint, fetching, postTo } from './endpoint.ts'
import { anthropicBatchResults } from './jobs/anthropic-batch-results.ts'
import { evalRun, evalRuns } from './jobs/eval-runs.ts'
import { fineTuningJob, fineTuningJobs } from './jobs/fine-tuning.ts'
import { fireworksWorkflows } from './jobs/fireworks-workflows.ts'
import { jobFile } from './jobs/job-files.ts'
import { openAiBatch, openAiBatches } from './jobs/openai-batches.ts'
import { openAiTranscriptions } from './media/openai-audio.ts'
import { openAiImages } from './media/openai-images.ts'
import { elevenLabsSpeech, openAiSpeech } from './media/speech.ts'
import { azureVideoJobs, openAiVideos, xaiVideo, xaiVideos } from './media/videos.ts'
import { nativeEndpoints } from './native-endpoints.ts'
import { openAiChat, openAiCompletions, perplexityAsyncChat } from './openai/openai-chat.ts'
import { OPENAI_OVERRIDES } from './openai/openai-overrides.ts'
import { openAiEmbeddings, openAiModerations, openAiRerank } from './openai/openai-prompt-only.ts'
import { openAiResponses } from './openai/openai-responses.ts'
import { alibabaGeneration } from './others/alibaba-generation.ts'
import { cloudflareRun } from './others/cloudflare-run.ts'
import { lmStudioChat } from './others/lmstudio-chat.ts'
import { mistralOcr } from './others/mistral-ocr.ts'
import { openAiContainers, perplexitySearch, vectorStoreSearch } from './services.ts'

/** OpenAI-style endpoints, known by the end of the path: prefixes differ from provider to provider. */
function openAiEndpoints(provider: Provider): readonly Endpoint[] {
  const overrides = OPENAI_OVERRIDES[provider]
  const responses = openAiResponses(overrides)
  const imagesFromForms = openAiImages(overrides, true)
  const transcriptions = openAiTranscriptions(overrides)
  const rerank = openAiRerank(overrides)
  return [
    postTo('/chat/completions', openAiChat(overrides)),
    postTo('/responses', responses),
    postTo('/embeddings', openAiEmbeddings(overrides)),
    postTo('/v1/messages', anthropicMessages),
    postTo('/completions', openAiCompletions(overrides)),
    postTo('/responses/compact', responses),
    // Fetching a response tells the usage of one that ran in the background; cancelling answers with it too.
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
const VIDEOS: readonly Endpoint[] = [
  endpoint('POST', /\/videos$/, openAiVideos),
  endpoint('POST', /\/videos\/(?:edits|extensions|[^/]+\/remix)$/, { ...openAiVideos, hidesModel: true }),
]

/** What OpenAI bills beside its models, and Azure after it. */
const OPENAI_SERVICES: readonly Endpoint[] = [
  postTo('/v1/containers', openAiContainers),
  endpoint('POST', /\/vector_stores\/[^/]+\/search$/, vectorStoreSearch),
  ...VIDEOS,
]

/** What a provider has beside the OpenAI-style endpoints, looked at before them. */
function ownEndpoints(provider: Provider): readonly Endpoint[] {
  const overrides = OPENAI_OVERRIDES[provider]
  switch (provider) {
    case 'openai':
      return OPENAI_SERVICES
    case 'azure-openai':
    case 'azure-ai':
      return [...OPENAI_SERVICES, postTo('/video/generations/jobs', azureVideoJobs)]
    case 'litellm-proxy':
      return VIDEOS
    case 'fireworks':
      return [
        endpoint(
          'POST',
          /\/workflows\/accounts\/[^/]+\/models\/[^/]+(?:\/text_to_image)?$/,
          fireworksWorkflows,
        ),
      ]
    case 'anthropic':
      return [
        postTo('/messages', anthropicMessages),
        postTo('/complete', anthropicComplete),
        fetching('GET', /\/messages\/batches\/[^/]+\/results$/, anthropicBatchResults),
      ]
    case 'perplexity':
      return [
        postTo('/search', perplexitySearch),
        postTo('/async/chat/completions', perplexityAsyncChat(overrides)),
        fetching('GET', /\/async\/chat\/completions\/[^/]+$/, perplexityAsyncChat(overrides)),
      ]
    case 'mistral':
      return [
        postTo('/ocr', mistralOcr),
        // Agents answer with chat's usage, in a stream on its last event.
        endpoint('POST', /\/conversations(?:\/[^/]+(?:\/restart)?)?$/, openAiChat(overrides)),
      ]
    case 'databricks':
      // Every model by its own name: chat and completions answer alike, embeddings have no completion.
      return [endpoint('POST', /\/serving-endpoints\/[^/]+\/invocations$/, openAiChat(overrides))]
    case 'alibaba':
      return [endpoint('POST', /\/services\/aigc\/.+\/generation$/, alibabaGeneration)]
    case 'cloudflare':
      return [endpoint('POST', /\/ai\/run\/./, cloudflareRun(overrides))]
    case 'lmstudio':
      return [postTo('/api/v1/chat', lmStudioChat)]
    case 'xai':
      return [
        // Answers a completion once, so no response id is needed against counting it twice.
        fetching('GET', /\/chat\/deferred-completion\/[^/]+$/, openAiChat(overrides)),
        endpoint('POST', /\/videos\/(?:generations|edits|extensions)$/, xaiVideos),
        fetching('GET', /\/videos\/[^/]+$/, xaiVideo),
      ]
    case 'openai-compatible':
      return [
        // Writer's chat.
        postTo('/v1/chat', openAiChat(overrides)),
        endpoint('POST', /\/v1\/text-to-speech\/[^/]+(?:\/stream)?(?:\/with-timestamps)?$/, elevenLabsSpeech),
        ...VIDEOS,
      ]
    default:
      return []
  }
}

/** The metered endpoints of each provider, made at its first call. */
const endpointsOf = new Map<Provider, readonly Endpoint[]>()

/**
 * The dialect in which `provider` answers a call, by method and path alone, never by what the body looks like;
 * `null` when none is known there (lists of models, files, counting of tokens, what nobody has read yet).
 * `path` is canonical: decoded, without query and without a slash at its end. Of several endpoints that match, the first is meant.
 */
export function selectDialect(provider: Provider, method: string, path: string): Dialect | null {
  let endpoints = endpointsOf.get(provider)
  if (endpoints === undefined) {
    endpoints = [...ownEndpoints(provider), ...nativeEndpoints(provider), ...openAiEndpoints(provider)]
    endpointsOf.set(provider, endpoints)
  }
  const lowerPath = path.toLowerCase()
  for (const candidate of endpoints) {
    if (candidate.method === method && candidate.matches(path, lowerPath)) return candidate.dialect
  }
  return null
}
