import type { RateClass } from '../price-rates.ts'
import { type PagePrice, type PricePage, pageOf } from './price-page.ts'

/**
 * What a model costs that the catalogs do not have: by the picture, second, character, page or search. These are whole
 * prices: nothing is filled in from elsewhere. What a fee depends on beside the count (size, quality, resolution) stands in
 * the service tier of the call.
 */
export interface MediaPrice extends PagePrice {
  /** Left out: of calls without one, which are of the size and quality that the provider takes by default. */
  readonly tier?: string
  readonly rates: readonly { readonly rate: RateClass; readonly usd: string; readonly per: bigint }[]
}

const OPENAI = pageOf(['openai'], 'https://developers.openai.com/api/docs/pricing')
const AZURE = pageOf(['azure-openai', 'azure-ai'], 'https://azure.microsoft.com/pricing/details/azure-openai')
const GOOGLE = pageOf(['gemini', 'vertex'], 'https://ai.google.dev/gemini-api/docs/pricing')
const VERTEX = pageOf(
  ['vertex'],
  'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
)
const VERTEX_RANKS = pageOf(['vertex'], 'https://cloud.google.com/generative-ai-app-builder/pricing')
const BEDROCK = pageOf(['bedrock'], 'https://aws.amazon.com/bedrock/pricing')
const XAI = pageOf(['xai'], 'https://docs.x.ai/docs/models')
const XAI_RENAMED = pageOf(
  ['xai'],
  'https://docs.x.ai/developers/migration/imagine-image-quality-nov-2',
  '2026-11-25',
)
const XAI_SPEECH = pageOf(['xai'], 'https://docs.x.ai/developers/models/speech-to-text', '2026-11-27')
const COHERE = pageOf(['cohere'], 'https://cohere.com/pricing')
const VOYAGE = pageOf(['voyageai'], 'https://docs.voyageai.com/docs/pricing')
const GROQ = pageOf(['groq'], 'https://groq.com/pricing')
const FIREWORKS = pageOf(['fireworks'], 'https://fireworks.ai/pricing')
const MISTRAL = pageOf(['mistral'], 'https://mistral.ai/pricing#api-pricing')
const MISTRAL_2603 = pageOf(
  ['mistral'],
  'https://docs.mistral.ai/models/mistral-moderation-26-03',
  '2026-11-27',
)
const PERPLEXITY = pageOf(['perplexity'], 'https://docs.perplexity.ai/getting-started/pricing')
const ZAI = pageOf(['zai'], 'https://docs.z.ai/guides/overview/pricing', '2026-11-27')

const XAI_QUALITY = /^grok-imagine-image-(?:pro|quality(?:-20260403|-latest)?)$/

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

/** @param more The tier, or more than that. */
function media(
  page: PricePage,
  models: RegExp,
  rates: MediaPrice['rates'],
  more: string | Partial<MediaPrice> = {},
): MediaPrice {
  return { ...page, models, rates, ...(typeof more === 'string' ? { tier: more } : more) }
}

/** Of those for a model, the one of the call's tier. */
export const MEDIA_PRICES: readonly MediaPrice[] = [
  // Speech.
  media(OPENAI, /^tts-1(?:-1106)?$/, perMillionCharacters('15')),
  media(OPENAI, /^tts-1-hd(?:-1106)?$/, perMillionCharacters('30')),
  media(AZURE, /^tts(?:-1)?$/, perMillionCharacters('15')),
  media(MISTRAL, /^voxtral-mini-tts-(?:2603|latest)$/, perMillionCharacters('16')),
  media(MISTRAL, /^voxtral-mini-tts-3(?:-0)?$/, perMillionCharacters('13')),
  media(GROQ, /^canopylabs\/orpheus-v1-english$/, perMillionCharacters('22')),
  media(GROQ, /^canopylabs\/orpheus-arabic-saudi$/, perMillionCharacters('40')),

  // Recordings.
  media(XAI_SPEECH, /^grok-stt$/, perHourOfSound('0.1')),

  // Pictures. OpenAI's are retired: the last prices they had.
  media(OPENAI, /^dall-e-2$/, perImage('0.02')),
  media(OPENAI, /^dall-e-2$/, perImage('0.018'), '512x512'),
  media(OPENAI, /^dall-e-2$/, perImage('0.016'), '256x256'),
  media(OPENAI, /^dall-e-3$/, perImage('0.04')),
  media(OPENAI, /^dall-e-3$/, perImage('0.08'), '1024x1792'),
  media(OPENAI, /^dall-e-3$/, perImage('0.08'), '1792x1024'),
  media(OPENAI, /^dall-e-3$/, perImage('0.08'), 'hd_1024x1024'),
  media(OPENAI, /^dall-e-3$/, perImage('0.12'), 'hd_1024x1792'),
  media(OPENAI, /^dall-e-3$/, perImage('0.12'), 'hd_1792x1024'),
  media(GOOGLE, /^imagen-4\.0-generate-001$/, perImage('0.04')),
  media(GOOGLE, /^imagen-4\.0-ultra-generate-001$/, perImage('0.06')),
  media(GOOGLE, /^imagen-4\.0-fast-generate-001$/, perImage('0.02')),
  media(VERTEX, /^imagen-3\.0-generate-00[12]$/, perImage('0.04')),
  media(VERTEX, /^imagen-3\.0-fast-generate-001$/, perImage('0.02')),
  media(VERTEX, /^virtual-try-on-001$/, perImage('0.06')),
  media(XAI, /^grok-imagine-image(?:-2026-03-02)?$/, perImage('0.02')),
  // Served by grok-imagine-image-2.0 at low quality since then, a cent cheaper.
  media(XAI_RENAMED, XAI_QUALITY, perImage('0.04'), { from: '2026-11-02' }),
  media(XAI, XAI_QUALITY, perImage('0.05')),
  media(XAI, /^grok-imagine-image-2\.0$/, perImage('0.06')),
  media(XAI, /^grok-imagine-image-2\.0$/, perImage('0.04'), 'low'),
  media(ZAI, /^glm-image$/, perImage('0.015')),
  media(BEDROCK, /^(?:us\.)?amazon\.nova-canvas-v1:0$/, perImage('0.04')),
  media(BEDROCK, /^(?:us\.)?amazon\.nova-canvas-v1:0$/, perImage('0.06'), 'premium'),
  media(BEDROCK, /^(?:us\.)?amazon\.nova-canvas-v1:0$/, perImage('0.06'), '2048'),
  media(BEDROCK, /^(?:us\.)?amazon\.nova-canvas-v1:0$/, perImage('0.08'), 'premium_2048'),
  media(BEDROCK, /^amazon\.titan-image-generator-v[12](?::0)?$/, perImage('0.01')),
  media(BEDROCK, /^amazon\.titan-image-generator-v[12](?::0)?$/, perImage('0.012'), 'premium'),
  media(BEDROCK, /^amazon\.titan-image-generator-v[12](?::0)?$/, perImage('0.008'), '512'),
  media(BEDROCK, /^amazon\.titan-image-generator-v[12](?::0)?$/, perImage('0.01'), 'premium_512'),
  media(BEDROCK, /^stability\.stable-image-core-v1:[01]$/, perImage('0.04')),
  media(BEDROCK, /^stability\.stable-image-ultra-v1:[01]$/, perImage('0.14')),
  media(BEDROCK, /^stability\.sd3(?:-5)?-large-v1:0$/, perImage('0.08')),
  media(BEDROCK, /^(?:us\.)?stability\.stable-conservative-upscale-v1:0$/, perImage('0.4')),
  media(BEDROCK, /^(?:us\.)?stability\.stable-creative-upscale-v1:0$/, perImage('0.6')),
  media(BEDROCK, /^(?:us\.)?stability\.stable-fast-upscale-v1:0$/, perImage('0.03')),
  media(BEDROCK, /^(?:us\.)?stability\.stable-outpaint-v1:0$/, perImage('0.06')),
  media(BEDROCK, /^(?:us\.)?stability\.stable-style-transfer-v1:0$/, perImage('0.08')),
  media(
    BEDROCK,
    /^(?:us\.)?stability\.stable-image-(?:control-sketch|control-structure|erase-object|inpaint|remove-background|search-recolor|search-replace|style-guide)-v1:0$/,
    perImage('0.07'),
  ),
  // By the step; it takes four unless the request says otherwise.
  media(FIREWORKS, /^accounts\/fireworks\/models\/flux-1-schnell-fp8$/, perImage('0.0014'), '4_steps'),
  media(FIREWORKS, /^accounts\/fireworks\/models\/flux-kontext-pro$/, perImage('0.04')),
  media(FIREWORKS, /^accounts\/fireworks\/models\/flux-kontext-max$/, perImage('0.08')),

  // Films.
  media(OPENAI, /^sora-2(?:-20\d\d-\d\d-\d\d)?$/, perSecond('0.1')),
  media(OPENAI, /^sora-2-pro(?:-20\d\d-\d\d-\d\d)?$/, perSecond('0.3')),
  media(OPENAI, /^sora-2-pro(?:-20\d\d-\d\d-\d\d)?$/, perSecond('0.5'), '1024p'),
  media(AZURE, /^sora-2$/, perSecond('0.1')),
  media(AZURE, /^sora-2-pro$/, perSecond('0.3')),
  media(AZURE, /^sora-2-pro$/, perSecond('0.5'), '1024p'),
  media(GOOGLE, /^veo-3\.1-generate-(?:preview|001)$/, perSecond('0.4')),
  media(GOOGLE, /^veo-3\.1-generate-(?:preview|001)$/, perSecond('0.4'), '1080p'),
  media(GOOGLE, /^veo-3\.1-generate-(?:preview|001)$/, perSecond('0.6'), '4k'),
  media(GOOGLE, /^veo-3\.1-fast-generate-(?:preview|001)$/, perSecond('0.1')),
  media(GOOGLE, /^veo-3\.1-fast-generate-(?:preview|001)$/, perSecond('0.12'), '1080p'),
  media(GOOGLE, /^veo-3\.1-fast-generate-(?:preview|001)$/, perSecond('0.3'), '4k'),
  media(GOOGLE, /^veo-3\.1-lite-generate-(?:preview|001)$/, perSecond('0.05')),
  media(GOOGLE, /^veo-3\.1-lite-generate-(?:preview|001)$/, perSecond('0.08'), '1080p'),
  media(VERTEX, /^veo-3\.0-generate-001$/, perSecond('0.4')),
  media(VERTEX, /^veo-3\.0-generate-001$/, perSecond('0.4'), '1080p'),
  media(VERTEX, /^veo-3\.0-fast-generate-001$/, perSecond('0.1')),
  media(VERTEX, /^veo-3\.0-fast-generate-001$/, perSecond('0.12'), '1080p'),
  media(VERTEX, /^veo-2\.0-generate-001$/, perSecond('0.5')),
  media(BEDROCK, /^(?:us\.)?amazon\.nova-reel-v1:[01]$/, perSecond('0.08')),
  media(BEDROCK, /^luma\.ray-v2:0$/, perSecond('1.5')),
  media(BEDROCK, /^luma\.ray-v2:0$/, perSecond('0.75'), '540p'),
  // Whole, whatever their length.
  media(ZAI, /^(?:cogvideox-3|vidu2-(?:image|start-end))$/, perFilm('0.2')),
  media(ZAI, /^(?:vidu2-reference|viduq1-(?:text|image|start-end))$/, perFilm('0.4')),

  // Embeddings of pictures and films.
  media(BEDROCK, /^amazon\.titan-embed-image-v1(?::0)?$/, [
    ...perMillionInput('0.8'),
    ...perImage('0.00006'),
  ]),
  media(VERTEX, MULTIMODAL, embeddingRates('0.0005')),
  media(VERTEX, MULTIMODAL, embeddingRates('0.001'), 'video_standard'),
  media(VERTEX, MULTIMODAL, embeddingRates('0.002'), 'video_plus'),

  // Moderations.
  media(MISTRAL, /^mistral-moderation-2411$/, perMillionInput('0.1')),
  media(MISTRAL_2603, /^mistral-moderation-2603$/, perMillionInput('0')),

  // Rankings.
  media(COHERE, /^rerank-(?:v3\.5|english-v3\.0|multilingual-v3\.0|v4\.0-fast)$/, perThousandUnits('2')),
  media(COHERE, /^rerank-v4\.0-pro$/, perThousandUnits('2.5')),
  media(COHERE, /^rerank-v5\.0-fast$/, perMillionInput('0.02')),
  media(COHERE, /^rerank-v5\.0-pro$/, perMillionInput('0.05')),
  media(AZURE, /^cohere-rerank-(?:v3-english|v3-multilingual|v4\.0-fast)$/, perThousandUnits('2')),
  media(AZURE, /^cohere-rerank-v4\.0-pro$/, perThousandUnits('2.5')),
  media(BEDROCK, /^cohere\.rerank-v3-5:0$/, perThousandUnits('2')),
  media(BEDROCK, /^amazon\.rerank-v1:0$/, perThousandUnits('1')),
  media(VERTEX_RANKS, /^semantic-ranker-(?:default|fast)(?:-00[1-4]|@latest)?$/, perThousandUnits('1')),
  media(VOYAGE, /^rerank-(?:1|2|2\.5|3)$/, perMillionInput('0.05')),
  media(VOYAGE, /^rerank-(?:lite-1|2-lite|2\.5-lite|3-lite)$/, perMillionInput('0.02')),
  // $0.60 for 1,000 M pixels, of which 560 are a token.
  media(VOYAGE, /^voyage-multimodal-3(?:\.5)?$/, [
    ...perMillionInput('0.12'),
    { rate: 'imageInput', usd: '0.336', per: 1_000_000n },
  ]),

  // Services that run no model; the names are ours.
  media(OPENAI, /^container$/, [{ rate: 'codeRun', usd: '0.03', per: 1n }]),
  media(AZURE, /^container$/, [{ rate: 'codeRun', usd: '0.033', per: 1n }]),
  media(OPENAI, /^vector-store-search$/, [{ rate: 'fileSearch', usd: '2.5', per: 1_000n }]),
  media(PERPLEXITY, /^search$/, [{ rate: 'webSearch', usd: '5', per: 1_000n }]),
]
