import type { UtcDay } from '../../domain/utc-day.ts'
import type { RateClass } from '../price-rates.ts'

/**
 * What a model costs that the catalogs do not have: by the picture, second, character, page or search. These are whole
 * prices: nothing is filled in from elsewhere. What a fee depends on beside the count (size, quality, resolution) stands in
 * the service tier of the call.
 */
export interface MediaPrice {
  /** Our provider names. */
  readonly providers: readonly string[]
  /** Whole names, in lower case. */
  readonly models: RegExp
  /** Left out: of calls without one, which are of the size and quality that the provider takes by default. */
  readonly tier?: string
  readonly rates: readonly { readonly rate: RateClass; readonly usd: string; readonly per: bigint }[]
  /** The first UTC day; left out: since ever. */
  readonly from?: UtcDay
  /** The page on which the provider publishes it. */
  readonly source: string
  /** The day on which the figure was taken, from the price list of LiteLLM 1.109.1 where that has it. */
  readonly seen: UtcDay
}

const seen = '2026-11-22'
const OPENAI = { providers: ['openai'], source: 'https://developers.openai.com/api/docs/pricing', seen }
const AZURE = {
  providers: ['azure-openai', 'azure-ai'],
  source: 'https://azure.microsoft.com/pricing/details/azure-openai',
  seen,
}
const GEMINI = { providers: ['gemini'], source: 'https://ai.google.dev/gemini-api/docs/pricing', seen }
const VERTEX = {
  providers: ['vertex'],
  source: 'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
  seen,
}
const GOOGLE = { ...GEMINI, providers: ['gemini', 'vertex'] }
const BEDROCK = { providers: ['bedrock'], source: 'https://aws.amazon.com/bedrock/pricing', seen }
const XAI_QUALITY = /^grok-imagine-image-(?:pro|quality(?:-20260403|-latest)?)$/
const XAI = { providers: ['xai'], source: 'https://docs.x.ai/docs/models', seen }
const COHERE = { providers: ['cohere'], source: 'https://cohere.com/pricing', seen }
const VOYAGE = { providers: ['voyageai'], source: 'https://docs.voyageai.com/docs/pricing', seen }
const GROQ = { providers: ['groq'], source: 'https://groq.com/pricing', seen }
const FIREWORKS = { providers: ['fireworks'], source: 'https://fireworks.ai/pricing', seen }
const MISTRAL = { providers: ['mistral'], source: 'https://mistral.ai/pricing#api-pricing', seen }
const ZAI = {
  providers: ['zai'],
  source: 'https://docs.z.ai/guides/overview/pricing',
  seen: '2026-11-27',
} as const

const perImage = (usd: string) => [{ rate: 'image', usd, per: 1n }] as const
const perSecond = (usd: string) => [{ rate: 'videoMs', usd, per: 1_000n }] as const
const perHourOfSound = (usd: string) => [{ rate: 'audioMs', usd, per: 3_600_000n }] as const
const perMillionCharacters = (usd: string) => [{ rate: 'character', usd, per: 1_000_000n }] as const
const perFilm = (usd: string) => [{ rate: 'otherToolCall', usd, per: 1n }] as const
const perThousandUnits = (usd: string) => [{ rate: 'searchUnit', usd, per: 1_000n }] as const
const perMillionInput = (usd: string) => [{ rate: 'input', usd, per: 1_000_000n }] as const

const MULTIMODAL = /^multimodalembedding(?:@001)?$/
const embeddingRates = (second: string) =>
  [...perImage('0.0001'), ...perMillionCharacters('0.2'), ...perSecond(second)] as const

/** Of those for a model, the one of the call's tier. */
export const MEDIA_PRICES: readonly MediaPrice[] = [
  // Speech.
  { ...OPENAI, models: /^tts-1(?:-1106)?$/, rates: perMillionCharacters('15') },
  { ...OPENAI, models: /^tts-1-hd(?:-1106)?$/, rates: perMillionCharacters('30') },
  { ...AZURE, models: /^tts(?:-1)?$/, rates: perMillionCharacters('15') },
  { ...MISTRAL, models: /^voxtral-mini-tts-(?:2603|latest)$/, rates: perMillionCharacters('16') },
  { ...MISTRAL, models: /^voxtral-mini-tts-3(?:-0)?$/, rates: perMillionCharacters('13') },
  { ...GROQ, models: /^canopylabs\/orpheus-v1-english$/, rates: perMillionCharacters('22') },
  { ...GROQ, models: /^canopylabs\/orpheus-arabic-saudi$/, rates: perMillionCharacters('40') },

  // Recordings.
  {
    ...XAI,
    models: /^grok-stt$/,
    rates: perHourOfSound('0.1'),
    source: 'https://docs.x.ai/developers/models/speech-to-text',
    seen: '2026-11-27',
  },

  // Pictures. OpenAI's are retired: the last prices they had.
  { ...OPENAI, models: /^dall-e-2$/, rates: perImage('0.02') },
  { ...OPENAI, models: /^dall-e-2$/, tier: '512x512', rates: perImage('0.018') },
  { ...OPENAI, models: /^dall-e-2$/, tier: '256x256', rates: perImage('0.016') },
  { ...OPENAI, models: /^dall-e-3$/, rates: perImage('0.04') },
  { ...OPENAI, models: /^dall-e-3$/, tier: '1024x1792', rates: perImage('0.08') },
  { ...OPENAI, models: /^dall-e-3$/, tier: '1792x1024', rates: perImage('0.08') },
  { ...OPENAI, models: /^dall-e-3$/, tier: 'hd_1024x1024', rates: perImage('0.08') },
  { ...OPENAI, models: /^dall-e-3$/, tier: 'hd_1024x1792', rates: perImage('0.12') },
  { ...OPENAI, models: /^dall-e-3$/, tier: 'hd_1792x1024', rates: perImage('0.12') },
  { ...GOOGLE, models: /^imagen-4\.0-generate-001$/, rates: perImage('0.04') },
  { ...GOOGLE, models: /^imagen-4\.0-ultra-generate-001$/, rates: perImage('0.06') },
  { ...GOOGLE, models: /^imagen-4\.0-fast-generate-001$/, rates: perImage('0.02') },
  { ...VERTEX, models: /^imagen-3\.0-generate-00[12]$/, rates: perImage('0.04') },
  { ...VERTEX, models: /^imagen-3\.0-fast-generate-001$/, rates: perImage('0.02') },
  { ...VERTEX, models: /^virtual-try-on-001$/, rates: perImage('0.06') },
  { ...XAI, models: /^grok-imagine-image(?:-2026-03-02)?$/, rates: perImage('0.02') },
  // Served by grok-imagine-image-2.0 at low quality since then, a cent cheaper.
  {
    ...XAI,
    models: XAI_QUALITY,
    rates: perImage('0.04'),
    from: '2026-11-02',
    source: 'https://docs.x.ai/developers/migration/imagine-image-quality-nov-2',
    seen: '2026-11-25',
  },
  { ...XAI, models: XAI_QUALITY, rates: perImage('0.05') },
  { ...XAI, models: /^grok-imagine-image-2\.0$/, rates: perImage('0.06') },
  { ...XAI, models: /^grok-imagine-image-2\.0$/, tier: 'low', rates: perImage('0.04') },
  { ...ZAI, models: /^glm-image$/, rates: perImage('0.015') },
  { ...BEDROCK, models: /^(?:us\.)?amazon\.nova-canvas-v1:0$/, rates: perImage('0.04') },
  { ...BEDROCK, models: /^(?:us\.)?amazon\.nova-canvas-v1:0$/, tier: 'premium', rates: perImage('0.06') },
  { ...BEDROCK, models: /^(?:us\.)?amazon\.nova-canvas-v1:0$/, tier: '2048', rates: perImage('0.06') },
  {
    ...BEDROCK,
    models: /^(?:us\.)?amazon\.nova-canvas-v1:0$/,
    tier: 'premium_2048',
    rates: perImage('0.08'),
  },
  { ...BEDROCK, models: /^amazon\.titan-image-generator-v[12](?::0)?$/, rates: perImage('0.01') },
  {
    ...BEDROCK,
    models: /^amazon\.titan-image-generator-v[12](?::0)?$/,
    tier: 'premium',
    rates: perImage('0.012'),
  },
  {
    ...BEDROCK,
    models: /^amazon\.titan-image-generator-v[12](?::0)?$/,
    tier: '512',
    rates: perImage('0.008'),
  },
  {
    ...BEDROCK,
    models: /^amazon\.titan-image-generator-v[12](?::0)?$/,
    tier: 'premium_512',
    rates: perImage('0.01'),
  },
  { ...BEDROCK, models: /^stability\.stable-image-core-v1:[01]$/, rates: perImage('0.04') },
  { ...BEDROCK, models: /^stability\.stable-image-ultra-v1:[01]$/, rates: perImage('0.14') },
  { ...BEDROCK, models: /^stability\.sd3(?:-5)?-large-v1:0$/, rates: perImage('0.08') },
  {
    ...BEDROCK,
    models: /^(?:us\.)?stability\.stable-conservative-upscale-v1:0$/,
    rates: perImage('0.4'),
  },
  { ...BEDROCK, models: /^(?:us\.)?stability\.stable-creative-upscale-v1:0$/, rates: perImage('0.6') },
  { ...BEDROCK, models: /^(?:us\.)?stability\.stable-fast-upscale-v1:0$/, rates: perImage('0.03') },
  { ...BEDROCK, models: /^(?:us\.)?stability\.stable-outpaint-v1:0$/, rates: perImage('0.06') },
  { ...BEDROCK, models: /^(?:us\.)?stability\.stable-style-transfer-v1:0$/, rates: perImage('0.08') },
  {
    ...BEDROCK,
    models:
      /^(?:us\.)?stability\.stable-image-(?:control-sketch|control-structure|erase-object|inpaint|remove-background|search-recolor|search-replace|style-guide)-v1:0$/,
    rates: perImage('0.07'),
  },
  // By the step; it takes four unless the request says otherwise.
  {
    ...FIREWORKS,
    models: /^accounts\/fireworks\/models\/flux-1-schnell-fp8$/,
    tier: '4_steps',
    rates: perImage('0.0014'),
  },
  { ...FIREWORKS, models: /^accounts\/fireworks\/models\/flux-kontext-pro$/, rates: perImage('0.04') },
  { ...FIREWORKS, models: /^accounts\/fireworks\/models\/flux-kontext-max$/, rates: perImage('0.08') },

  // Films.
  { ...OPENAI, models: /^sora-2(?:-20\d\d-\d\d-\d\d)?$/, rates: perSecond('0.1') },
  { ...OPENAI, models: /^sora-2-pro(?:-20\d\d-\d\d-\d\d)?$/, rates: perSecond('0.3') },
  { ...OPENAI, models: /^sora-2-pro(?:-20\d\d-\d\d-\d\d)?$/, tier: '1024p', rates: perSecond('0.5') },
  { ...AZURE, models: /^sora-2$/, rates: perSecond('0.1') },
  { ...AZURE, models: /^sora-2-pro$/, rates: perSecond('0.3') },
  { ...AZURE, models: /^sora-2-pro$/, tier: '1024p', rates: perSecond('0.5') },
  { ...GOOGLE, models: /^veo-3\.1-generate-(?:preview|001)$/, rates: perSecond('0.4') },
  { ...GOOGLE, models: /^veo-3\.1-generate-(?:preview|001)$/, tier: '1080p', rates: perSecond('0.4') },
  { ...GOOGLE, models: /^veo-3\.1-generate-(?:preview|001)$/, tier: '4k', rates: perSecond('0.6') },
  { ...GOOGLE, models: /^veo-3\.1-fast-generate-(?:preview|001)$/, rates: perSecond('0.1') },
  { ...GOOGLE, models: /^veo-3\.1-fast-generate-(?:preview|001)$/, tier: '1080p', rates: perSecond('0.12') },
  { ...GOOGLE, models: /^veo-3\.1-fast-generate-(?:preview|001)$/, tier: '4k', rates: perSecond('0.3') },
  { ...GOOGLE, models: /^veo-3\.1-lite-generate-(?:preview|001)$/, rates: perSecond('0.05') },
  { ...GOOGLE, models: /^veo-3\.1-lite-generate-(?:preview|001)$/, tier: '1080p', rates: perSecond('0.08') },
  { ...VERTEX, models: /^veo-3\.0-generate-001$/, rates: perSecond('0.4') },
  { ...VERTEX, models: /^veo-3\.0-generate-001$/, tier: '1080p', rates: perSecond('0.4') },
  { ...VERTEX, models: /^veo-3\.0-fast-generate-001$/, rates: perSecond('0.1') },
  { ...VERTEX, models: /^veo-3\.0-fast-generate-001$/, tier: '1080p', rates: perSecond('0.12') },
  { ...VERTEX, models: /^veo-2\.0-generate-001$/, rates: perSecond('0.5') },
  { ...BEDROCK, models: /^(?:us\.)?amazon\.nova-reel-v1:[01]$/, rates: perSecond('0.08') },
  { ...BEDROCK, models: /^luma\.ray-v2:0$/, rates: perSecond('1.5') },
  { ...BEDROCK, models: /^luma\.ray-v2:0$/, tier: '540p', rates: perSecond('0.75') },
  // Whole, whatever their length.
  { ...ZAI, models: /^(?:cogvideox-3|vidu2-(?:image|start-end))$/, rates: perFilm('0.2') },
  { ...ZAI, models: /^(?:vidu2-reference|viduq1-(?:text|image|start-end))$/, rates: perFilm('0.4') },

  // Embeddings of pictures and films.
  {
    ...BEDROCK,
    models: /^amazon\.titan-embed-image-v1(?::0)?$/,
    rates: [...perMillionInput('0.8'), ...perImage('0.00006')],
  },
  { ...VERTEX, models: MULTIMODAL, rates: embeddingRates('0.0005') },
  { ...VERTEX, models: MULTIMODAL, tier: 'video_standard', rates: embeddingRates('0.001') },
  { ...VERTEX, models: MULTIMODAL, tier: 'video_plus', rates: embeddingRates('0.002') },

  // Moderations.
  { ...MISTRAL, models: /^mistral-moderation-2411$/, rates: perMillionInput('0.1') },
  {
    ...MISTRAL,
    models: /^mistral-moderation-2603$/,
    rates: perMillionInput('0'),
    source: 'https://docs.mistral.ai/models/mistral-moderation-26-03',
    seen: '2026-11-27',
  },

  // Rankings.
  {
    ...COHERE,
    models: /^rerank-(?:v3\.5|english-v3\.0|multilingual-v3\.0|v4\.0-fast)$/,
    rates: perThousandUnits('2'),
  },
  { ...COHERE, models: /^rerank-v4\.0-pro$/, rates: perThousandUnits('2.5') },
  { ...COHERE, models: /^rerank-v5\.0-fast$/, rates: perMillionInput('0.02') },
  { ...COHERE, models: /^rerank-v5\.0-pro$/, rates: perMillionInput('0.05') },
  {
    ...AZURE,
    models: /^cohere-rerank-(?:v3-english|v3-multilingual|v4\.0-fast)$/,
    rates: perThousandUnits('2'),
  },
  { ...AZURE, models: /^cohere-rerank-v4\.0-pro$/, rates: perThousandUnits('2.5') },
  { ...BEDROCK, models: /^cohere\.rerank-v3-5:0$/, rates: perThousandUnits('2') },
  { ...BEDROCK, models: /^amazon\.rerank-v1:0$/, rates: perThousandUnits('1') },
  {
    ...VERTEX,
    models: /^semantic-ranker-(?:default|fast)(?:-00[1-4]|@latest)?$/,
    rates: perThousandUnits('1'),
    source: 'https://cloud.google.com/generative-ai-app-builder/pricing',
  },
  { ...VOYAGE, models: /^rerank-(?:1|2|2\.5|3)$/, rates: perMillionInput('0.05') },
  { ...VOYAGE, models: /^rerank-(?:lite-1|2-lite|2\.5-lite|3-lite)$/, rates: perMillionInput('0.02') },
  {
    ...VOYAGE,
    models: /^voyage-multimodal-3(?:\.5)?$/,
    // $0.60 for 1,000 M pixels, of which 560 are a token.
    rates: [...perMillionInput('0.12'), { rate: 'imageInput', usd: '0.336', per: 1_000_000n }],
  },

  // Services that run no model; the names are ours.
  { ...OPENAI, models: /^container$/, rates: [{ rate: 'codeRun', usd: '0.03', per: 1n }] },
  { ...AZURE, models: /^container$/, rates: [{ rate: 'codeRun', usd: '0.033', per: 1n }] },
  { ...OPENAI, models: /^vector-store-search$/, rates: [{ rate: 'fileSearch', usd: '2.5', per: 1_000n }] },
  {
    providers: ['perplexity'],
    models: /^search$/,
    rates: [{ rate: 'webSearch', usd: '5', per: 1_000n }],
    source: 'https://docs.perplexity.ai/getting-started/pricing',
    seen,
  },
]
