import type { UtcDay } from '../../domain/utc-day.ts'
import type { AddedRate } from './added-rate.ts'
import { ADDED_TOOL_RATES } from './added-tool-rates.ts'

const perThousand = (usd: string) => ({ usd, per: 1_000n })
const perMillion = (usd: string) => ({ usd, per: 1_000_000n })
const seen = '2026-11-22'
const VERTEX = 'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing'
const GEMINI = 'https://ai.google.dev/gemini-api/docs/pricing'
const BEDROCK = 'https://aws.amazon.com/bedrock/pricing'
const OPENAI = 'https://developers.openai.com/api/docs/pricing'
const OPENROUTER = 'https://openrouter.ai/models?output_modalities=image'
const XAI = 'https://docs.x.ai/developers/pricing'
const XAI_TOOLS_FROM: UtcDay = '2026-01-12'
const PERPLEXITY = 'https://docs.perplexity.ai/getting-started/pricing'

/** The first that fits a class decides. A new kind of fee is a line here, once its count is a class of rates. */
export const ADDED_RATES: readonly AddedRate[] = [
  // Cache writes for one hour: twice the input, as at Anthropic itself.
  {
    providers: ['bedrock'],
    models: /claude-(?:(?:opus|sonnet|haiku)-4-[5-9]|(?:opus|sonnet|haiku|fable|mythos)-5)/,
    rate: 'cacheWrite1h',
    price: { times: '2', of: 'input' },
    source: BEDROCK,
    seen,
  },
  {
    providers: ['vertex'],
    models: /^claude-/,
    rate: 'cacheWrite1h',
    price: { times: '2', of: 'input' },
    source: VERTEX,
    seen,
  },
  {
    providers: ['moonshotai'],
    models: /^kimi-k3$/,
    rate: 'cacheWrite1h',
    price: { times: '2', of: 'input' },
    source: 'https://platform.kimi.ai/docs/pricing/chat-k3',
    seen,
  },

  // Cache writes for twelve hours: twice those for half an hour, which are 1.25 of the input. LiteLLM lists none at Azure.
  {
    providers: ['openai'],
    models: /^gpt-(?:5\.6|6|6\.1)(?:-|$)/,
    rate: 'cacheWrite12h',
    price: { times: '2.5', of: 'input' },
    source: OPENAI,
    seen,
  },

  // Billed beside the output that has it: 11 of 11 recorded answers that name their cost.
  {
    providers: ['vercel-gateway'],
    models: /^(?:gpt-|o[0-9]|codex)/,
    rate: 'reasoning',
    price: { times: '1', of: 'output' },
    source: 'https://vercel.com/docs/ai-gateway/pricing',
    seen,
  },

  // What it draws is all that it generates, whether the answer says so or not.
  {
    providers: ['openai', 'azure-openai', 'azure-ai'],
    models: /^gpt-image-1(?:-mini)?$/,
    rate: 'imageOutput',
    price: { times: '1', of: 'output' },
    source: OPENAI,
    seen,
  },

  // Pictures at their makers' prices: the lists have those of the text beside them alone.
  {
    providers: ['openrouter'],
    models: /^google\/gemini-(?:2\.5-flash-image|3\.1-flash-lite-image)(?:-|$)/,
    rate: 'imageOutput',
    price: perMillion('30'),
    source: OPENROUTER,
    seen,
  },
  {
    providers: ['openrouter'],
    models: /^google\/gemini-3\.1-flash-image(?:-|$)/,
    rate: 'imageOutput',
    price: perMillion('60'),
    source: OPENROUTER,
    seen,
  },
  {
    providers: ['openrouter'],
    models: /^google\/gemini-3-pro-image(?:-|$)/,
    rate: 'imageOutput',
    price: perMillion('120'),
    source: OPENROUTER,
    seen,
  },
  {
    providers: ['openrouter'],
    models: /^openai\/gpt-5-image$/,
    rate: 'imageOutput',
    price: perMillion('40'),
    source: OPENROUTER,
    seen,
  },

  // Web searches.
  {
    providers: ['azure-openai', 'azure-ai'],
    models: /^(?:gpt|o[0-9])/,
    rate: 'webSearch',
    price: perThousand('14'),
    replaces: true,
    source: 'https://www.microsoft.com/en-us/bing/apis/grounding-pricing',
    seen,
  },
  {
    providers: ['openai'],
    models: /^(?:gpt-[56]|o[34])/,
    rate: 'webSearch',
    price: perThousand('10'),
    source: 'https://openai.com/api/pricing',
    seen,
  },
  // In chat these always search, once, and no answer counts it.
  {
    providers: ['openai'],
    models: /^gpt-4o(?:-mini)?-search-preview/,
    rate: 'request',
    price: perThousand('25'),
    replaces: true,
    source: OPENAI,
    seen,
  },
  {
    providers: ['openai'],
    models: /^gpt-5-search-api/,
    rate: 'request',
    price: perThousand('10'),
    replaces: true,
    source: OPENAI,
    seen,
  },
  {
    providers: ['bedrock'],
    models: /openai\.gpt-5/,
    rate: 'webSearch',
    price: perThousand('12'),
    source: BEDROCK,
    seen,
  },
  {
    providers: ['azure-ai'],
    models: /^claude-/,
    rate: 'webSearch',
    price: perThousand('10'),
    source: 'https://platform.claude.com/docs/en/about-claude/pricing',
    seen,
  },
  {
    providers: ['groq'],
    models: /gpt-oss/,
    rate: 'webSearch',
    price: perThousand('5'),
    source: 'https://groq.com/pricing',
    seen,
  },
  {
    providers: ['anthropic'],
    models: /^claude-/,
    rate: 'webSearch',
    price: perThousand('10'),
    source: 'https://platform.claude.com/docs/en/about-claude/pricing',
    seen,
  },
  {
    providers: ['vertex', 'bedrock'],
    models: /claude-/,
    rate: 'webSearch',
    price: perThousand('10'),
    source: VERTEX,
    seen,
  },
  // Before that day: Live Search, by the source.
  {
    providers: ['xai'],
    models: /^grok-/,
    rate: 'webSearch',
    price: perThousand('5'),
    from: XAI_TOOLS_FROM,
    source: XAI,
    seen,
  },
  // A grounded prompt up to Gemini 2.5, a query since Gemini 3.
  {
    providers: ['gemini', 'vertex'],
    // What answers a session is not known where its turns are counted, so that their queries are not its prompts.
    models: /^gemini-2(?!.*(?:live|native-audio))/,
    rate: 'webSearch',
    price: perThousand('35'),
    source: GEMINI,
    seen,
  },
  {
    providers: ['gemini', 'vertex'],
    models: /^gemini-[3-9]/,
    rate: 'webSearch',
    price: perThousand('14'),
    source: GEMINI,
    seen,
  },
  {
    providers: ['gemini', 'vertex'],
    models: /^gemini-2\.5(?!.*(?:live|native-audio))/,
    rate: 'mapSearch',
    price: perThousand('25'),
    source: GEMINI,
    seen,
  },
  {
    providers: ['gemini', 'vertex'],
    models: /^gemini-[3-9]/,
    rate: 'mapSearch',
    price: perThousand('14'),
    source: GEMINI,
    seen,
  },
  // The fee of the request is for these.
  {
    providers: ['perplexity'],
    models: /^sonar(?:-reasoning)?(?:-pro)?$/,
    rate: 'webSearch',
    price: perThousand('0'),
    source: PERPLEXITY,
    seen,
  },

  ...ADDED_TOOL_RATES,

  // How Anthropic prices the caches of every model since Claude 4, until a list has those of a new one.
  ...(
    [
      ['cacheRead', '0.1'],
      ['cacheWrite', '1.25'],
      ['cacheWrite1h', '2'],
    ] as const
  ).map(
    ([rate, times]): AddedRate => ({
      providers: ['anthropic', 'azure-ai'],
      models: /^claude-(?:opus|sonnet|haiku|fable|mythos)-/,
      rate,
      price: { times, of: 'input' },
      isRule: true,
      source: 'https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing',
      seen,
    }),
  ),
]

/** What of a model's rates is added or replaced for calls at `provider` on `day`; by class, the first that fits. */
export function addedRatesFor(provider: string, model: string, day: UtcDay): readonly AddedRate[] {
  const lower = model.toLowerCase()
  const fitting = ADDED_RATES.filter(
    ({ providers, models, from }) =>
      providers.includes(provider) && (from === undefined || from <= day) && models.test(lower),
  )
  return fitting.filter(({ rate }, index) => fitting.findIndex((other) => other.rate === rate) === index)
}
