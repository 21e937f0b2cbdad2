import { type PricePage, pageOf } from './price-page.ts'
import type { TierPrice } from './tier-price.ts'

const OPENAI = pageOf(['openai'], 'https://openai.com/api/pricing')
const OPENAI_TOOLS = pageOf(['openai'], 'https://developers.openai.com/api/docs/pricing')
const AZURE = pageOf(['azure-openai', 'azure-ai'], 'https://azure.microsoft.com/pricing/details/azure-openai')
const ANTHROPIC = pageOf(['anthropic'], 'https://platform.claude.com/docs/en/about-claude/pricing')
const ANTHROPIC_FAST = pageOf(
  ['anthropic'],
  'https://platform.claude.com/docs/en/build-with-claude/fast-mode',
)
const CLAUDE = pageOf(
  ['anthropic', 'vertex', 'bedrock', 'azure-ai'],
  'https://platform.claude.com/docs/en/api/beta/messages',
  '2026-11-25',
)
const GEMINI = pageOf(['gemini'], 'https://ai.google.dev/gemini-api/docs/pricing')
const VERTEX = pageOf(
  ['vertex'],
  'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
)
const BEDROCK = pageOf(['bedrock'], 'https://aws.amazon.com/bedrock/pricing')
const BEDROCK_LATENCY = pageOf(
  ['bedrock'],
  'https://docs.aws.amazon.com/bedrock/latest/userguide/latency-optimized-inference.html',
  '2026-11-25',
)
const MISTRAL = pageOf(['mistral'], 'https://docs.mistral.ai/capabilities/batch')
const XAI = pageOf(['xai'], 'https://docs.x.ai/docs/models')
const GROQ_BATCH = pageOf(['groq'], 'https://console.groq.com/docs/batch')
const GROQ_FLEX = pageOf(['groq'], 'https://console.groq.com/docs/flex-processing')
const TOGETHER = pageOf(['together'], 'https://docs.together.ai/docs/inference/batch/overview', '2026-11-26')
const PERPLEXITY = pageOf(['perplexity'], 'https://docs.perplexity.ai/getting-started/pricing')
const FIREWORKS = pageOf(['fireworks'], 'https://docs.fireworks.ai/serverless/pricing')

/** Cached tokens at other than half of their usual price, in prompts that are not large. */
const CACHED_52: Partial<TierPrice> = { except: { cacheRead: '0.52' }, exceptUpTo: 272_000 }
/** Cached tokens at their usual price. */
const CACHED_WHOLE: Partial<TierPrice> = { except: { cacheRead: '1', cacheReadAudio: '1' } }

function priced(
  page: PricePage,
  models: RegExp,
  tier: string,
  factor: string,
  more: Partial<TierPrice> = {},
): TierPrice {
  return { ...page, models, tier, factor, ...more }
}

function searches(models: RegExp, ...fees: readonly [low: string, medium: string, high: string]) {
  return ['search_low', 'search_medium', 'search_high'].map((tier, index) =>
    priced(PERPLEXITY, models, tier, '1', { requestsPerThousand: fees[index] ?? '' }),
  )
}

/** Bedrock prices these at its tiers with figures of their own, rounded otherwise. */
const AWS_ROUNDS =
  'gemma-3-(?:12b|27b)|ministral-3-[38]b|nemotron-nano|safeguard|qwen3-(?:vl|next)|voxtral|magistral'

/**
 * The first that fits decides. Only the figures of Anthropic's fast mode and of Groq's flex were held against the provider's
 * own page.
 */
export const TIER_PRICES: readonly TierPrice[] = [
  // Batches.
  priced(OPENAI, /^gpt-5\.4$/, 'batch', '0.5', CACHED_52),
  priced(OPENAI, /^gpt-image-1(?:\.5)?$/, 'batch', '0.5', { except: { cacheRead: '0.504' } }),
  priced(OPENAI, /^(?!ft:|gpt-3\.5-turbo-1106$)/, 'batch', '0.5'),
  priced(AZURE, /^gpt-5\.4$/, 'batch', '0.5', CACHED_52),
  priced(AZURE, /^(?:gpt|o[0-9])/, 'batch', '0.5'),
  priced(ANTHROPIC, /^claude-/, 'batch', '0.5', {
    source: 'https://platform.claude.com/docs/en/build-with-claude/batch-processing',
  }),
  priced(
    GEMINI,
    /^gemini-(?:2\.5-(?:pro|flash|flash-lite)|3-flash-preview|3\.1-pro-preview(?:-customtools)?)$/,
    'batch',
    '0.5',
    CACHED_WHOLE,
  ),
  priced(GEMINI, /^gemini-(?!3\.5-flash-lite$)/, 'batch', '0.5'),
  priced(VERTEX, /^gemini-(?!embedding-001$)|^claude-(?!opus-5-5$)/, 'batch', '0.5'),
  priced(BEDROCK, new RegExp(`^(?!.*(?:${AWS_ROUNDS}))`), 'batch', '0.5'),
  priced(MISTRAL, /./, 'batch', '0.5', { units: ['page', 'annotatedPage'] }),
  priced(XAI, /^grok-4\.(?:3|20|7)/, 'batch', '0.8'),
  priced(GROQ_BATCH, /./, 'batch', '0.5', { units: ['audioMs'] }),
  // Half of it for some models, which no list names.
  priced(TOGETHER, /./, 'batch', '1', { isPartly: true }),

  // Flex: cheaper, slower.
  priced(OPENAI, /^gpt-5\.4$/, 'flex', '0.5', CACHED_52),
  priced(
    OPENAI,
    /^(?:gpt-5(?:\.[1256])?(?:-(?:sol|terra|luna|mini|nano))?|gpt-5\.[45]-(?:pro|mini|nano)|gpt-6(?:\.1)?-(?:astra|sol|terra|luna)|o3|o4-mini)$/,
    'flex',
    '0.5',
  ),
  priced(
    AZURE,
    /^(?:gpt-5\.4(?:-(?:mini|nano|pro))?|gpt-5\.5|gpt-5\.6-(?:sol|terra|luna)|gpt-6-astra)$/,
    'flex',
    '0.5',
  ),
  priced(
    GEMINI,
    /^gemini-(?:2\.5-(?:pro|flash|flash-lite)|3-flash-preview|3\.1-pro-preview(?:-customtools)?)$/,
    'flex',
    '0.5',
    CACHED_WHOLE,
  ),
  priced(
    GEMINI,
    /^gemini-(?:2\.5-flash-image|3-pro-image-preview|3\.1-flash-lite|3\.[678]-flash|4-(?:argon|carbon|hydrogen|neon))$/,
    'flex',
    '0.5',
  ),
  priced(VERTEX, /^gemini-2\.5-(?:pro|flash|flash-lite)$/, 'flex', '0.5', CACHED_WHOLE),
  priced(
    VERTEX,
    /^gemini-(?:2\.5-flash-image|3-pro-image-preview|3\.1-flash-(?:image-preview|lite|lite-image)|3-flash-preview|3\.1-pro-preview|3\.[5678]-flash|3\.5-flash-lite|4-argon)$/,
    'flex',
    '0.5',
  ),
  priced(
    BEDROCK,
    new RegExp(
      `^(?!.*(?:${AWS_ROUNDS}))(?:.*\\.)?(?:amazon\\.nova-(?:pro|2-lite)|deepseek\\.|minimax\\.|mistral\\.(?:devstral|mistral-large-3)|moonshotai\\.|openai\\.gpt-oss|qwen\\.|zai\\.|xai\\.grok|writer\\.palmyra-vision)`,
    ),
    'flex',
    '0.5',
  ),
  // The same prices, other limits: "Pricing matches the on-demand tier".
  priced(GROQ_FLEX, /./, 'flex', '1'),

  // Priority.
  priced(
    OPENAI,
    /^(?:gpt-4\.1-nano|gpt-5(?:\.[12])?|gpt-5\.3-codex|gpt-5\.4(?:-mini)?|gpt-5\.6-(?:sol|terra|luna)|gpt-6(?:\.[12])?-(?:astra|sol|terra|luna))$/,
    'priority',
    '2',
  ),
  priced(OPENAI, /^gpt-5\.5$/, 'priority', '2.5'),
  priced(OPENAI, /^gpt-5-mini$/, 'priority', '1.8'),
  priced(OPENAI, /^(?:gpt-4\.1(?:-mini)?|gpt-4o-2024-05-13|o3)$/, 'priority', '1.75'),
  priced(OPENAI, /^gpt-4o$/, 'priority', '1.7'),
  // $0.25 for $0.15, and $2 for $1.10: no decimal number says it whole, these do to the picodollar.
  priced(OPENAI, /^gpt-4o-mini$/, 'priority', '1.6666667'),
  priced(OPENAI, /^o4-mini$/, 'priority', '1.8181818'),
  priced(
    AZURE,
    /^(?:gpt-5(?:\.[12])?|gpt-5\.3-codex|gpt-5\.4(?:-(?:mini|nano|pro))?|gpt-5\.6-(?:sol|terra|luna)|gpt-6-sol)$/,
    'priority',
    '2',
  ),
  priced(AZURE, /^gpt-5\.5$/, 'priority', '2', {
    except: { input: '2.5', cacheRead: '2.5', output: '2.5' },
    exceptUpTo: 272_000,
    seen: '2026-11-25',
  }),
  priced(AZURE, /^gpt-5(?:\.1-codex)?-mini$/, 'priority', '1.8'),
  priced(AZURE, /^gpt-4\.1(?:-mini)?$/, 'priority', '1.75'),
  priced(
    GEMINI,
    /^gemini-(?:2\.5-(?:pro|flash|flash-lite|flash-image)|3-pro-image-preview|3-flash-preview|3\.1-(?:pro-preview|flash-lite)|3\.[5678]-flash|4-(?:argon|carbon|hydrogen|neon))$/,
    'priority',
    '1.8',
  ),
  priced(
    VERTEX,
    /^gemini-(?:2\.5-(?:pro|flash|flash-lite)|3-pro-(?:preview|image-preview)|3-flash-preview|3\.1-(?:pro-preview|flash-lite|flash-lite-image|flash-image-preview)|3\.[5678]-flash|3\.5-flash-lite|4-(?:argon|hydrogen))$/,
    'priority',
    '1.8',
  ),
  priced(
    BEDROCK,
    new RegExp(
      `^(?!.*(?:${AWS_ROUNDS}))(?:.*\\.)?(?:amazon\\.nova-(?:pro|premier|2-lite)|deepseek\\.v|minimax\\.minimax-m2\\.|mistral\\.devstral|moonshotai\\.kimi-k[0-9.]+$|openai\\.gpt-oss|qwen\\.qwen3-(?:32b|coder)|zai\\.|xai\\.grok|writer\\.palmyra-vision)`,
    ),
    'priority',
    '1.75',
  ),
  priced(FIREWORKS, /^gpt-oss-120b$/, 'priority', '1.2'),
  priced(FIREWORKS, /^(?:kimi-k3|glm-5p2|deepseek-v4-flash)$/, 'priority', '1.25'),
  priced(FIREWORKS, /^(?:kimi-k2p7-code|minimax-m3)$/, 'priority', '1.5'),

  // The word of late for it. Where the source's prices have no sizes of prompt, as here, they say nothing of large ones.
  priced(OPENAI, /^gpt-5\.4$/, 'fast', '2', { from: '2026-10-12' }),
  priced(OPENAI, /^gpt-5\.5$/, 'fast', '2.5', { from: '2026-10-12' }),

  // Faster than that.
  priced(OPENAI, /^(?:gpt-6-astra|gpt-6\.1-sol)$/, 'ultrafast', '6'),
  priced(ANTHROPIC_FAST, /^claude-opus-(?:4-8|5|5-5)$/, 'fast', '2'),
  priced(ANTHROPIC_FAST, /^claude-opus-4-6$/, 'fast', '6'),

  // Data that stays in the United States (`inference_geo`), on top of any of these: for all models since Opus 4.6.
  priced(
    ANTHROPIC,
    /^claude-(?:(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku|fable|mythos)-[5-9]|mythos-preview)(?!\d)/,
    'us',
    '1.1',
  ),

  // Tiers that are known to be near the list price, and that no list has a figure for.
  // A retry after a refusal, billed as if its model had served the conversation all along: less, and no answer says how much.
  priced(CLAUDE, /claude-/, 'fallback_credit', '1', { isPartly: true }),
  // Dearer, by what AWS's page of prices says alone.
  priced(BEDROCK_LATENCY, /./, 'latency_optimized', '1', { isPartly: true }),

  // How much of the web a request may read (`search_context_size` in its usage): its fee, the tokens are the same.
  ...searches(/^sonar(?:-reasoning)?$/, '5', '8', '12'),
  ...searches(/^sonar(?:-reasoning)?-pro$/, '6', '10', '14'),
  priced(PERPLEXITY, /^sonar-deep-research$/, 'search_low', '1'),
  priced(PERPLEXITY, /^sonar-deep-research$/, 'search_medium', '1'),
  priced(PERPLEXITY, /^sonar-deep-research$/, 'search_high', '1'),
  // The older tool of web search (`web_search_preview`), dearer with models that do not reason.
  priced(OPENAI_TOOLS, /^gpt-4(?:o|\.1)(?:-mini)?$/, 'search_preview', '1', { searchesPerThousand: '25' }),
]
