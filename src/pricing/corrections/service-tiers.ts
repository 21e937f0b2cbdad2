import type { TierPrice } from './tier-price.ts'

const OPENAI = {
  providers: ['openai'],
  source: 'https://openai.com/api/pricing',
  seen: '2026-11-22',
} as const
const AZURE = {
  providers: ['azure-openai', 'azure-ai'],
  source: 'https://azure.microsoft.com/pricing/details/azure-openai',
  seen: '2026-11-22',
} as const
const ANTHROPIC = {
  providers: ['anthropic'],
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  seen: '2026-11-22',
} as const
const GEMINI = {
  providers: ['gemini'],
  source: 'https://ai.google.dev/gemini-api/docs/pricing',
  seen: '2026-11-22',
} as const
const VERTEX = {
  providers: ['vertex'],
  source: 'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
  seen: '2026-11-22',
} as const
const BEDROCK = {
  providers: ['bedrock'],
  source: 'https://aws.amazon.com/bedrock/pricing',
  seen: '2026-11-22',
} as const
const GROQ = {
  providers: ['groq'],
  source: 'https://console.groq.com/docs/service-tiers',
  seen: '2026-11-22',
} as const
const PERPLEXITY = {
  providers: ['perplexity'],
  source: 'https://docs.perplexity.ai/getting-started/pricing',
  seen: '2026-11-22',
} as const
const FIREWORKS = {
  providers: ['fireworks'],
  source: 'https://docs.fireworks.ai/serverless/pricing',
  seen: '2026-11-22',
} as const

/** Bedrock prices these at its tiers with figures of their own, rounded otherwise. */
const AWS_ROUNDS =
  'gemma-3-(?:12b|27b)|ministral-3-[38]b|nemotron-nano|safeguard|qwen3-(?:vl|next)|voxtral|magistral'

/** The first that fits decides. */
export const TIER_PRICES: readonly TierPrice[] = [
  // Batches.
  {
    ...OPENAI,
    models: /^gpt-5\.4$/,
    tier: 'batch',
    factor: '0.5',
    except: { cacheRead: '0.52' },
    exceptUpTo: 272_000,
  },
  {
    ...OPENAI,
    models: /^gpt-image-1(?:\.5)?$/,
    tier: 'batch',
    factor: '0.5',
    except: { cacheRead: '0.504' },
  },
  { ...OPENAI, models: /^(?!ft:|gpt-3\.5-turbo-1106$)/, tier: 'batch', factor: '0.5' },
  {
    ...AZURE,
    models: /^gpt-5\.4$/,
    tier: 'batch',
    factor: '0.5',
    except: { cacheRead: '0.52' },
    exceptUpTo: 272_000,
  },
  { ...AZURE, models: /^(?:gpt|o[0-9])/, tier: 'batch', factor: '0.5' },
  {
    ...ANTHROPIC,
    models: /^claude-/,
    tier: 'batch',
    factor: '0.5',
    source: 'https://platform.claude.com/docs/en/build-with-claude/batch-processing',
  },
  {
    ...GEMINI,
    models: /^gemini-(?:2\.5-(?:pro|flash|flash-lite)|3-flash-preview|3\.1-pro-preview(?:-customtools)?)$/,
    tier: 'batch',
    factor: '0.5',
    except: { cacheRead: '1', cacheReadAudio: '1' },
  },
  { ...GEMINI, models: /^gemini-(?!3\.5-flash-lite$)/, tier: 'batch', factor: '0.5' },
  { ...VERTEX, models: /^gemini-(?!embedding-001$)|^claude-(?!opus-5-5$)/, tier: 'batch', factor: '0.5' },
  { ...BEDROCK, models: new RegExp(`^(?!.*(?:${AWS_ROUNDS}))`), tier: 'batch', factor: '0.5' },
  {
    providers: ['mistral'],
    models: /./,
    tier: 'batch',
    factor: '0.5',
    units: ['page', 'annotatedPage'],
    source: 'https://docs.mistral.ai/capabilities/batch',
    seen: '2026-11-22',
  },
  {
    providers: ['xai'],
    models: /^grok-4\.(?:3|20|7)/,
    tier: 'batch',
    factor: '0.8',
    source: 'https://docs.x.ai/docs/models',
    seen: '2026-11-22',
  },
  {
    ...GROQ,
    models: /./,
    tier: 'batch',
    factor: '0.5',
    units: ['audioMs'],
    source: 'https://console.groq.com/docs/batch',
  },
  {
    providers: ['together'],
    models: /./,
    tier: 'batch',
    factor: '1',
    // Half of it for some models, which no list names.
    isPartly: true,
    source: 'https://docs.together.ai/docs/inference/batch/overview',
    seen: '2026-11-26',
  },

  // Flex: cheaper, slower.
  {
    ...OPENAI,
    models: /^gpt-5\.4$/,
    tier: 'flex',
    factor: '0.5',
    except: { cacheRead: '0.52' },
    exceptUpTo: 272_000,
  },
  {
    ...OPENAI,
    models:
      /^(?:gpt-5(?:\.[1256])?(?:-(?:sol|terra|luna|mini|nano))?|gpt-5\.[45]-(?:pro|mini|nano)|gpt-6(?:\.1)?-(?:astra|sol|terra|luna)|o3|o4-mini)$/,
    tier: 'flex',
    factor: '0.5',
  },
  {
    ...AZURE,
    models: /^(?:gpt-5\.4(?:-(?:mini|nano|pro))?|gpt-5\.5|gpt-5\.6-(?:sol|terra|luna)|gpt-6-astra)$/,
    tier: 'flex',
    factor: '0.5',
  },
  {
    ...GEMINI,
    models: /^gemini-(?:2\.5-(?:pro|flash|flash-lite)|3-flash-preview|3\.1-pro-preview(?:-customtools)?)$/,
    tier: 'flex',
    factor: '0.5',
    except: { cacheRead: '1', cacheReadAudio: '1' },
  },
  {
    ...GEMINI,
    models: /^gemini-(?:2\.5-flash-image|3-pro-image-preview|3\.1-flash-lite|3\.[678]-flash)$/,
    tier: 'flex',
    factor: '0.5',
  },
  {
    ...VERTEX,
    models: /^gemini-2\.5-(?:pro|flash|flash-lite)$/,
    tier: 'flex',
    factor: '0.5',
    except: { cacheRead: '1', cacheReadAudio: '1' },
  },
  {
    ...VERTEX,
    models:
      /^gemini-(?:2\.5-flash-image|3-pro-image-preview|3\.1-flash-(?:image-preview|lite|lite-image)|3-flash-preview|3\.1-pro-preview|3\.[5678]-flash|3\.5-flash-lite)$/,
    tier: 'flex',
    factor: '0.5',
  },
  {
    ...BEDROCK,
    models: new RegExp(
      `^(?!.*(?:${AWS_ROUNDS}))(?:.*\\.)?(?:amazon\\.nova-(?:pro|2-lite)|deepseek\\.|minimax\\.|mistral\\.(?:devstral|mistral-large-3)|moonshotai\\.|openai\\.gpt-oss|qwen\\.|zai\\.|xai\\.grok|writer\\.palmyra-vision)`,
    ),
    tier: 'flex',
    factor: '0.5',
  },
  // The same prices, other limits: "Pricing matches the on-demand tier".
  {
    ...GROQ,
    models: /./,
    tier: 'flex',
    factor: '1',
    source: 'https://console.groq.com/docs/flex-processing',
  },

  // Priority.
  {
    ...OPENAI,
    models:
      /^(?:gpt-4\.1-nano|gpt-5(?:\.[12])?|gpt-5\.3-codex|gpt-5\.4(?:-mini)?|gpt-5\.6-(?:sol|terra|luna)|gpt-6(?:\.1)?-(?:astra|sol|terra|luna))$/,
    tier: 'priority',
    factor: '2',
  },
  { ...OPENAI, models: /^gpt-5\.5$/, tier: 'priority', factor: '2.5' },
  { ...OPENAI, models: /^gpt-5-mini$/, tier: 'priority', factor: '1.8' },
  { ...OPENAI, models: /^(?:gpt-4\.1(?:-mini)?|gpt-4o-2024-05-13|o3)$/, tier: 'priority', factor: '1.75' },
  { ...OPENAI, models: /^gpt-4o$/, tier: 'priority', factor: '1.7' },
  // $0.25 for $0.15, and $2 for $1.10: no decimal number says it whole, these do to the picodollar.
  { ...OPENAI, models: /^gpt-4o-mini$/, tier: 'priority', factor: '1.6666667' },
  { ...OPENAI, models: /^o4-mini$/, tier: 'priority', factor: '1.8181818' },
  {
    ...AZURE,
    models:
      /^(?:gpt-5(?:\.[12])?|gpt-5\.3-codex|gpt-5\.4(?:-(?:mini|nano|pro))?|gpt-5\.6-(?:sol|terra|luna)|gpt-6-sol)$/,
    tier: 'priority',
    factor: '2',
  },
  {
    ...AZURE,
    models: /^gpt-5\.5$/,
    tier: 'priority',
    factor: '2',
    except: { input: '2.5', cacheRead: '2.5', output: '2.5' },
    exceptUpTo: 272_000,
    seen: '2026-11-25',
  },
  { ...AZURE, models: /^gpt-5(?:\.1-codex)?-mini$/, tier: 'priority', factor: '1.8' },
  { ...AZURE, models: /^gpt-4\.1(?:-mini)?$/, tier: 'priority', factor: '1.75' },
  {
    ...GEMINI,
    models:
      /^gemini-(?:2\.5-(?:pro|flash|flash-lite|flash-image)|3-pro-image-preview|3-flash-preview|3\.1-(?:pro-preview|flash-lite)|3\.[5678]-flash)$/,
    tier: 'priority',
    factor: '1.8',
  },
  {
    ...VERTEX,
    models:
      /^gemini-(?:2\.5-(?:pro|flash|flash-lite)|3-pro-(?:preview|image-preview)|3-flash-preview|3\.1-(?:pro-preview|flash-lite|flash-lite-image|flash-image-preview)|3\.[5678]-flash|3\.5-flash-lite)$/,
    tier: 'priority',
    factor: '1.8',
  },
  {
    ...BEDROCK,
    models: new RegExp(
      `^(?!.*(?:${AWS_ROUNDS}))(?:.*\\.)?(?:amazon\\.nova-(?:pro|premier|2-lite)|deepseek\\.v|minimax\\.minimax-m2\\.|mistral\\.devstral|moonshotai\\.kimi-k[0-9.]+$|openai\\.gpt-oss|qwen\\.qwen3-(?:32b|coder)|zai\\.|xai\\.grok|writer\\.palmyra-vision)`,
    ),
    tier: 'priority',
    factor: '1.75',
  },
  { ...FIREWORKS, models: /^gpt-oss-120b$/, tier: 'priority', factor: '1.2' },
  { ...FIREWORKS, models: /^(?:kimi-k3|glm-5p2|deepseek-v4-flash)$/, tier: 'priority', factor: '1.25' },
  { ...FIREWORKS, models: /^(?:kimi-k2p7-code|minimax-m3)$/, tier: 'priority', factor: '1.5' },

  // The word of late for it. Where the source's prices have no sizes of prompt, as here, they say nothing of large ones.
  { ...OPENAI, models: /^gpt-5\.4$/, tier: 'fast', factor: '2', from: '2026-10-12' },
  { ...OPENAI, models: /^gpt-5\.5$/, tier: 'fast', factor: '2.5', from: '2026-10-12' },

  // Faster than that.
  { ...OPENAI, models: /^(?:gpt-6-astra|gpt-6\.1-sol)$/, tier: 'ultrafast', factor: '6' },
  {
    ...ANTHROPIC,
    models: /^claude-opus-(?:4-8|5|5-5)$/,
    tier: 'fast',
    factor: '2',
    source: 'https://platform.claude.com/docs/en/build-with-claude/fast-mode',
  },
  {
    ...ANTHROPIC,
    models: /^claude-opus-4-6$/,
    tier: 'fast',
    factor: '6',
    source: 'https://platform.claude.com/docs/en/build-with-claude/fast-mode',
  },

  // Data that stays in the United States (`inference_geo`), on top of any of these: for all models since Opus 4.6.
  {
    ...ANTHROPIC,
    models:
      /^claude-(?:(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku|fable|mythos)-[5-9]|mythos-preview)(?!\d)/,
    tier: 'us',
    factor: '1.1',
  },

  // Tiers that are known to be near the list price, and that no list has a figure for.
  // A retry after a refusal, billed as if its model had served the conversation all along: less, and no answer says how much.
  {
    providers: ['anthropic', 'vertex', 'bedrock', 'azure-ai'],
    models: /claude-/,
    tier: 'fallback_credit',
    factor: '1',
    isPartly: true,
    source: 'https://platform.claude.com/docs/en/api/beta/messages',
    seen: '2026-11-25',
  },
  // Dearer, by what AWS's page of prices says alone.
  {
    providers: ['bedrock'],
    models: /./,
    tier: 'latency_optimized',
    factor: '1',
    isPartly: true,
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html',
    seen: '2026-11-25',
  },

  // How much of the web a request may read (`search_context_size` in its usage): its fee, the tokens are the same.
  {
    ...PERPLEXITY,
    models: /^sonar(?:-reasoning)?$/,
    tier: 'search_low',
    factor: '1',
    requestsPerThousand: '5',
  },
  {
    ...PERPLEXITY,
    models: /^sonar(?:-reasoning)?$/,
    tier: 'search_medium',
    factor: '1',
    requestsPerThousand: '8',
  },
  {
    ...PERPLEXITY,
    models: /^sonar(?:-reasoning)?$/,
    tier: 'search_high',
    factor: '1',
    requestsPerThousand: '12',
  },
  {
    ...PERPLEXITY,
    models: /^sonar(?:-reasoning)?-pro$/,
    tier: 'search_low',
    factor: '1',
    requestsPerThousand: '6',
  },
  {
    ...PERPLEXITY,
    models: /^sonar(?:-reasoning)?-pro$/,
    tier: 'search_medium',
    factor: '1',
    requestsPerThousand: '10',
  },
  {
    ...PERPLEXITY,
    models: /^sonar(?:-reasoning)?-pro$/,
    tier: 'search_high',
    factor: '1',
    requestsPerThousand: '14',
  },
  { ...PERPLEXITY, models: /^sonar-deep-research$/, tier: 'search_low', factor: '1' },
  { ...PERPLEXITY, models: /^sonar-deep-research$/, tier: 'search_medium', factor: '1' },
  { ...PERPLEXITY, models: /^sonar-deep-research$/, tier: 'search_high', factor: '1' },
  // The older tool of web search (`web_search_preview`), dearer with models that do not reason.
  {
    providers: ['openai'],
    models: /^gpt-4(?:o|\.1)(?:-mini)?$/,
    tier: 'search_preview',
    factor: '1',
    searchesPerThousand: '25',
    source: 'https://developers.openai.com/api/docs/pricing',
    seen: '2026-11-22',
  },
]
