import type { UtcDay } from '../../domain/utc-day.ts'
import type { RateClass } from '../price-rates.ts'
import { isPriceOf, type PagePrice, type PricePage, pageOf } from './price-page.ts'

/** A rate that the catalog does not have, or has wrong, for models it has other rates of. */
export interface AddedRate extends PagePrice {
  readonly rate: RateClass
  /** US dollars, as decimal text, for so many; or so many times the rate of another class. */
  readonly price:
    | { readonly usd: string; readonly per: bigint }
    | { readonly times: string; readonly of: RateClass }
  /**
   * So the maker prices all its models. Only where no source has a price of the class, and the price's source says
   * `by-rule`.
   */
  readonly isRule?: true
  /** Also where the catalog has one. */
  readonly replaces?: true
}

const OPENAI = pageOf(['openai'], 'https://developers.openai.com/api/docs/pricing')
const OPENAI_API = pageOf(['openai'], 'https://openai.com/api/pricing')
const OPENAI_ANYWHERE = pageOf(['openai', 'azure-openai', 'azure-ai'], OPENAI.source)
const AZURE = pageOf(['azure-openai', 'azure-ai'], 'https://azure.microsoft.com/pricing/details/azure-openai')
const AZURE_SEARCH = pageOf(AZURE.providers, 'https://www.microsoft.com/en-us/bing/apis/grounding-pricing')
const ANTHROPIC = pageOf(['anthropic'], 'https://platform.claude.com/docs/en/about-claude/pricing')
const CLAUDE_AT_AZURE = pageOf(['azure-ai'], ANTHROPIC.source)
const CLAUDE_ANYWHERE = pageOf(
  ['anthropic', 'vertex', 'bedrock', 'azure-ai'],
  'https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-fetch-tool',
)
const CLAUDE_CACHES = pageOf(
  ['anthropic', 'azure-ai'],
  'https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing',
)
const CLAUDE = /^claude-(?:opus|sonnet|haiku|fable|mythos)-/
const VERTEX = pageOf(
  ['vertex'],
  'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
)
const CLAUDE_AT_CLOUDS = pageOf(['vertex', 'bedrock'], VERTEX.source)
const GOOGLE = pageOf(['gemini', 'vertex'], 'https://ai.google.dev/gemini-api/docs/pricing')
const BEDROCK = pageOf(['bedrock'], 'https://aws.amazon.com/bedrock/pricing')
const OPENROUTER = pageOf(['openrouter'], 'https://openrouter.ai/models?output_modalities=image')
const DRAWN_BY_OPENAI = pageOf(OPENROUTER.providers, OPENAI.source)
const VERCEL = pageOf(['vercel-gateway'], 'https://vercel.com/docs/ai-gateway/pricing')
const XAI = pageOf(['xai'], 'https://docs.x.ai/developers/pricing')
const PERPLEXITY = pageOf(['perplexity'], 'https://docs.perplexity.ai/getting-started/pricing')
const COHERE = pageOf(['cohere'], 'https://cohere.com/pricing')
const MISTRAL = pageOf(['mistral'], 'https://mistral.ai/pricing#api-pricing')
const MOONSHOT = pageOf(['moonshotai'], 'https://platform.kimi.ai/docs/pricing/chat-k3')
const GROQ = pageOf(['groq'], 'https://groq.com/pricing')

const each = (usd: string) => ({ usd, per: 1n })
const perThousand = (usd: string) => ({ usd, per: 1_000n })
const perMillion = (usd: string) => ({ usd, per: 1_000_000n })
const times = (factor: string, of: RateClass) => ({ times: factor, of })

const REPLACES = { replaces: true } as const
const SINCE_TOOLS = { from: '2026-01-12' } as const

function rate(
  page: PricePage,
  models: RegExp,
  of: RateClass,
  price: AddedRate['price'],
  more: Partial<AddedRate> = {},
): AddedRate {
  return { ...page, models, rate: of, price, ...more }
}

/** The first that fits a class decides. A new kind of fee is a line here, once its count is a class of rates. */
export const ADDED_RATES: readonly AddedRate[] = [
  // Cache writes for one hour: twice the input, as at Anthropic itself.
  rate(
    BEDROCK,
    /claude-(?:(?:opus|sonnet|haiku)-4-[5-9]|(?:opus|sonnet|haiku|fable|mythos)-5)/,
    'cacheWrite1h',
    times('2', 'input'),
  ),
  rate(VERTEX, /^claude-/, 'cacheWrite1h', times('2', 'input')),
  rate(MOONSHOT, /^kimi-k3$/, 'cacheWrite1h', times('2', 'input')),

  // Cache writes for twelve hours: twice those for half an hour, which are 1.25 of the input. LiteLLM lists none at Azure.
  rate(OPENAI, /^gpt-(?:5\.6|6|6\.1)(?:-|$)/, 'cacheWrite12h', times('2.5', 'input')),

  // Billed beside the output that has it: 11 of 11 recorded answers that name their cost.
  rate(VERCEL, /^(?:gpt-|o[0-9]|codex)/, 'reasoning', times('1', 'output')),

  // What it draws is all that it generates, whether the answer says so or not.
  rate(OPENAI_ANYWHERE, /^gpt-image-1(?:-mini)?$/, 'imageOutput', times('1', 'output')),

  // Pictures at their makers' prices: the lists have those of the text beside them alone.
  rate(
    OPENROUTER,
    /^google\/gemini-(?:2\.5-flash-image|3\.1-flash-lite-image)(?:-|$)/,
    'imageOutput',
    perMillion('30'),
  ),
  rate(OPENROUTER, /^google\/gemini-3\.1-flash-image(?:-|$)/, 'imageOutput', perMillion('60')),
  rate(OPENROUTER, /^google\/gemini-3-pro-image(?:-|$)/, 'imageOutput', perMillion('120')),
  rate(OPENROUTER, /^openai\/gpt-5-image$/, 'imageOutput', perMillion('40')),
  // They draw by GPT Image 1 Mini and by GPT Image 2.
  rate(DRAWN_BY_OPENAI, /^openai\/gpt-5-image-mini$/, 'imageOutput', perMillion('8')),
  rate(DRAWN_BY_OPENAI, /^openai\/gpt-5\.4-image-2(?:-|$)/, 'imageOutput', perMillion('30')),

  // Web searches.
  rate(AZURE_SEARCH, /^(?:gpt|o[0-9])/, 'webSearch', perThousand('14'), REPLACES),
  rate(OPENAI_API, /^(?:gpt-[56]|o[34])/, 'webSearch', perThousand('10')),
  // In chat these always search, once, and no answer counts it.
  rate(OPENAI, /^gpt-4o(?:-mini)?-search-preview/, 'request', perThousand('25'), REPLACES),
  rate(OPENAI, /^gpt-5-search-api/, 'request', perThousand('10'), REPLACES),
  rate(BEDROCK, /openai\.gpt-5/, 'webSearch', perThousand('12')),
  rate(CLAUDE_AT_AZURE, /^claude-/, 'webSearch', perThousand('10')),
  rate(GROQ, /gpt-oss/, 'webSearch', perThousand('5')),
  rate(ANTHROPIC, /^claude-/, 'webSearch', perThousand('10')),
  rate(CLAUDE_AT_CLOUDS, /claude-/, 'webSearch', perThousand('10')),
  // Before that day: Live Search, by the source.
  rate(XAI, /^grok-/, 'webSearch', perThousand('5'), SINCE_TOOLS),
  // A grounded prompt up to Gemini 2.5, a query since Gemini 3.
  // What answers a session is not known where its turns are counted, so that their queries are not its prompts.
  rate(GOOGLE, /^gemini-2(?!.*(?:live|native-audio))/, 'webSearch', perThousand('35')),
  rate(GOOGLE, /^gemini-[3-9]/, 'webSearch', perThousand('14')),
  rate(GOOGLE, /^gemini-2\.5(?!.*(?:live|native-audio))/, 'mapSearch', perThousand('25')),
  rate(GOOGLE, /^gemini-[3-9]/, 'mapSearch', perThousand('14')),
  // The fee of the request is for these.
  rate(PERPLEXITY, /^sonar(?:-reasoning)?(?:-pro)?$/, 'webSearch', perThousand('0')),

  // Tokens of pictures, and pages that are annotated.
  rate(COHERE, /^embed-v4\.0$/, 'imageInput', perMillion('0.47')),
  rate(COHERE, /^embed-(?:english|multilingual)(?:-light)?-v3\.0$/, 'image', perThousand('0.1'), {
    seen: '2026-11-27',
  }),
  rate(MISTRAL, /^mistral-ocr-(?:latest|4|4-0|4-1)$/, 'annotatedPage', perThousand('5')),
  rate(MISTRAL, /^mistral-ocr-(?:2512|3|3-0)$/, 'annotatedPage', perThousand('3')),
  rate(PERPLEXITY, /^sonar-deep-research$/, 'webSearch', perThousand('5')),
  rate(PERPLEXITY, /^sonar-deep-research$/, 'citationToken', perMillion('2')),

  // Tools that run on the provider's side. Code at Groq and at Anthropic is billed by the hour, which no answer tells.
  rate(OPENAI, /./, 'fileSearch', perThousand('2.5')),
  // A container of one GB, for twenty minutes.
  rate(OPENAI, /./, 'codeRun', each('0.03')),
  rate(AZURE, /^(?:gpt|o[0-9])/, 'codeRun', each('0.033')),
  // By what was fetched since 2026-09-21, by the call before; both are at this price.
  rate(XAI, /^grok-/, 'xSearch', perThousand('5'), SINCE_TOOLS),
  rate(XAI, /^grok-/, 'codeRun', perThousand('5'), SINCE_TOOLS),
  rate(XAI, /^grok-/, 'fileSearch', perThousand('2.5'), SINCE_TOOLS),
  // Pages that Claude fetches cost their tokens.
  rate(CLAUDE_ANYWHERE, /claude-/, 'webFetch', perThousand('0')),

  // Tokens that models are tuned on.
  rate(OPENAI_API, /^gpt-4\.1(?:-2025-04-14)?$/, 'trainedToken', perMillion('25')),
  rate(OPENAI_API, /^gpt-4\.1-mini(?:-2025-04-14)?$/, 'trainedToken', perMillion('5')),
  rate(OPENAI_API, /^gpt-4\.1-nano(?:-2025-04-14)?$/, 'trainedToken', perMillion('1.5')),
  rate(OPENAI_API, /^gpt-4o(?:-2024-08-06)?$/, 'trainedToken', perMillion('25')),
  rate(OPENAI_API, /^gpt-4o-mini(?:-2024-07-18)?$/, 'trainedToken', perMillion('3')),

  // How Anthropic prices the caches of every model since Claude 4, until a list has those of a new one.
  rate(CLAUDE_CACHES, CLAUDE, 'cacheRead', times('0.1', 'input'), { isRule: true }),
  rate(CLAUDE_CACHES, CLAUDE, 'cacheWrite', times('1.25', 'input'), { isRule: true }),
  rate(CLAUDE_CACHES, CLAUDE, 'cacheWrite1h', times('2', 'input'), { isRule: true }),
]

/** What of a model's rates is added or replaced for calls at `provider` on `day`; by class, the first that fits. */
export function addedRatesFor(provider: string, model: string, day: UtcDay): readonly AddedRate[] {
  const lower = model.toLowerCase()
  const fitting = ADDED_RATES.filter((added) => isPriceOf(added, provider, lower, day))
  return fitting.filter(({ rate }, index) => fitting.findIndex((other) => other.rate === rate) === index)
}
