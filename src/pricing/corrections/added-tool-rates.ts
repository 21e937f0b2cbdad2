import type { UtcDay } from '../../domain/utc-day.ts'
import type { AddedRate } from './added-rate.ts'

const perThousand = (usd: string) => ({ usd, per: 1_000n })
const perMillion = (usd: string) => ({ usd, per: 1_000_000n })
const seen = '2026-11-22'
const OPENAI = 'https://developers.openai.com/api/docs/pricing'
const XAI = 'https://docs.x.ai/developers/pricing'
const XAI_TOOLS_FROM: UtcDay = '2026-01-12'
const PERPLEXITY = 'https://docs.perplexity.ai/getting-started/pricing'

/** Rates of pictures' tokens, pages, tools on the provider's side and training. The first that fits a class decides. */
export const ADDED_TOOL_RATES: readonly AddedRate[] = [
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
    providers: ['cohere'],
    models: /^embed-(?:english|multilingual)(?:-light)?-v3\.0$/,
    rate: 'image',
    price: perThousand('0.1'),
    source: 'https://cohere.com/pricing',
    seen: '2026-11-27',
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
