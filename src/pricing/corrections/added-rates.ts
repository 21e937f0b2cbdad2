import type { UtcDay } from '../../domain/utc-day.ts'
import type { RateClass } from '../price-rates.ts'

/** A rate that the catalog does not have, or has wrong, for models it has other rates of. */
export interface AddedRate {
  /** Our provider names. */
  readonly providers: readonly string[]
  /** The catalog's ids of the models, in lower case. */
  readonly models: RegExp
  readonly rate: RateClass
  /** US dollars, as decimal text, for so many; or so many times the rate of another class. */
  readonly price:
    | { readonly usd: string; readonly per: bigint }
    | { readonly times: string; readonly of: RateClass }
  /** Also where the catalog has one. */
  readonly replaces?: true
  /** The first UTC day; left out: since ever. */
  readonly from?: UtcDay
  /** The page on which the provider publishes it. */
  readonly source: string
  /** The day on which the figure was taken from the price list of LiteLLM 1.109.1 or others', not from that page itself. */
  readonly seen: UtcDay
}

const perThousand = (usd: string) => ({ usd, per: 1_000n })
const perMillion = (usd: string) => ({ usd, per: 1_000_000n })
const seen = '2026-11-22'
const VERTEX = 'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing'
const GEMINI = 'https://ai.google.dev/gemini-api/docs/pricing'
const BEDROCK = 'https://aws.amazon.com/bedrock/pricing'
const OPENAI = 'https://developers.openai.com/api/docs/pricing'
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

  // Tokens of pictures, and pages that are annotated.
  {
    providers: ['cohere'],
    models: /^embed-v4\.0$/,
    rate: 'imageInput',
    price: perMillion('0.47'),
    source: 'https://cohere.com/pricing',
    seen,
  },
  {
    providers: ['mistral'],
    models: /^mistral-ocr-(?:latest|4|4-0|4-1)$/,
    rate: 'annotatedPage',
    price: perThousand('5'),
    source: 'https://mistral.ai/pricing#api-pricing',
    seen,
  },
  {
    providers: ['mistral'],
    models: /^mistral-ocr-(?:2512|3|3-0)$/,
    rate: 'annotatedPage',
    price: perThousand('3'),
    source: 'https://mistral.ai/pricing#api-pricing',
    seen,
  },
  {
    providers: ['perplexity'],
    models: /^sonar-deep-research$/,
    rate: 'webSearch',
    price: perThousand('5'),
    source: PERPLEXITY,
    seen,
  },
  {
    providers: ['perplexity'],
    models: /^sonar-deep-research$/,
    rate: 'citationToken',
    price: { usd: '2', per: 1_000_000n },
    source: PERPLEXITY,
    seen,
  },

  // Tools that run on the provider's side. Code at Groq and at Anthropic is billed by the hour, which no answer tells.
  {
    providers: ['openai'],
    models: /./,
    rate: 'fileSearch',
    price: perThousand('2.5'),
    source: OPENAI,
    seen,
  },
  // A container of one GB, for twenty minutes.
  {
    providers: ['openai'],
    models: /./,
    rate: 'codeRun',
    price: { usd: '0.03', per: 1n },
    source: OPENAI,
    seen,
  },
  {
    providers: ['azure-openai', 'azure-ai'],
    models: /^(?:gpt|o[0-9])/,
    rate: 'codeRun',
    price: { usd: '0.033', per: 1n },
    source: 'https://azure.microsoft.com/pricing/details/azure-openai',
    seen,
  },
  // By what was fetched since 2026-09-21, by the call before; both are at this price.
  {
    providers: ['xai'],
    models: /^grok-/,
    rate: 'xSearch',
    price: perThousand('5'),
    from: XAI_TOOLS_FROM,
    source: XAI,
    seen,
  },
  {
    providers: ['xai'],
    models: /^grok-/,
    rate: 'codeRun',
    price: perThousand('5'),
    from: XAI_TOOLS_FROM,
    source: XAI,
    seen,
  },
  {
    providers: ['xai'],
    models: /^grok-/,
    rate: 'fileSearch',
    price: perThousand('2.5'),
    from: XAI_TOOLS_FROM,
    source: XAI,
    seen,
  },
  // Pages that Claude fetches cost their tokens.
  {
    providers: ['anthropic', 'vertex', 'bedrock', 'azure-ai'],
    models: /claude-/,
    rate: 'webFetch',
    price: perThousand('0'),
    source: 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-fetch-tool',
    seen,
  },

  // Tokens that models are tuned on.
  ...(
    [
      [/^gpt-4\.1(?:-2025-04-14)?$/, '25'],
      [/^gpt-4\.1-mini(?:-2025-04-14)?$/, '5'],
      [/^gpt-4\.1-nano(?:-2025-04-14)?$/, '1.5'],
      [/^gpt-4o(?:-2024-08-06)?$/, '25'],
      [/^gpt-4o-mini(?:-2024-07-18)?$/, '3'],
    ] as const
  ).map(
    ([models, usd]): AddedRate => ({
      providers: ['openai'],
      models,
      rate: 'trainedToken',
      price: perMillion(usd),
      source: 'https://openai.com/api/pricing',
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
