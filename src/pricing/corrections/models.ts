import type { UtcDay } from '../../domain/utc-day.ts'
import type { Cliff, DatedCorrection, ModelCorrection, Prices } from './model-correction.ts'

const seen = '2026-11-22'
const DEEPSEEK = 'https://api-docs.deepseek.com/quick_start/pricing'

/** Twice the price from 9:00 to 12:00 and 14:00 to 18:00 in Peking, Monday to Friday but for holidays. */
function atPeak(offPeak: Prices, peak: Prices): readonly DatedCorrection[] {
  const hours = (start: string, end: string) => ({
    constraint: {
      start_time: `${start}:00:00Z`,
      end_time: `${end}:00:00Z`,
      weekdays_only: true as const,
      not_on: 'chinese_holidays' as const,
    },
    prices: peak,
  })
  return [{ prices: offPeak }, hours('01', '04'), hours('06', '10')]
}

const DEEPSEEK_FLASH = atPeak(
  { input_mtok: 0.15, cache_read_mtok: 0.003, output_mtok: 0.6 },
  { input_mtok: 0.3, cache_read_mtok: 0.006, output_mtok: 1.2 },
)

const XAI = 'https://docs.x.ai/developers/migration/may-15-retirement'

/** Twice the price for prompts of 200,000 tokens and more. */
function twiceWhenLong(base: number): Cliff {
  return { base, tiers: [{ start: 199_999, price: 2 * base }] }
}

function grokPrices(input: number, output: number): Prices {
  return {
    input_mtok: twiceWhenLong(input),
    cache_read_mtok: twiceWhenLong(0.2),
    output_mtok: twiceWhenLong(output),
  }
}

const GROK_4_3 = grokPrices(1.25, 2.5)
const GROK_BUILD = grokPrices(1, 2)

interface RetiredGrok {
  /** The first is that of the first source, whose others follow. */
  readonly names: readonly [string, ...string[]]
  /** As the first source has them. */
  readonly before: {
    readonly input_mtok: number
    readonly cache_read_mtok: number
    readonly output_mtok: number
  }
  /** The day since which prompts over 128,000 tokens cost twice that, which the source leaves out; `null`: they did not. */
  readonly twiceSince: UtcDay | null
}

/** Models that xAI has retired. */
const RETIRED_GROKS: readonly RetiredGrok[] = [
  {
    names: ['grok-4-0709', 'grok-4', 'grok-4-latest'],
    before: { input_mtok: 3, cache_read_mtok: 0.75, output_mtok: 15 },
    twiceSince: '2025-07-09',
  },
  {
    names: ['grok-3', 'grok-3-latest'],
    before: { input_mtok: 3, cache_read_mtok: 0.75, output_mtok: 15 },
    twiceSince: null,
  },
  ...(
    [
      ['grok-4-fast', '2025-09-19'],
      ['grok-4-1-fast', '2025-11-19'],
    ] as const
  ).flatMap(([name, twiceSince]): RetiredGrok[] => {
    const before = { input_mtok: 0.2, cache_read_mtok: 0.05, output_mtok: 0.5 }
    const [thinking, plain] = [`${name}-reasoning`, `${name}-non-reasoning`]
    return [
      { names: [thinking, name, `${name}-latest`, `${thinking}-latest`], before, twiceSince },
      { names: [plain, `${plain}-latest`], before, twiceSince },
    ]
  }),
]

const GROKS_RETIRED_ON = '2026-05-16'

function retiredGrokPrices({ before, twiceSince }: RetiredGrok): readonly DatedCorrection[] {
  const now = { constraint: { start_date: GROKS_RETIRED_ON }, prices: GROK_4_3 }
  if (twiceSince === null) return [now]
  const twice = (base: number): Cliff => ({ base, tiers: [{ start: 128_000, price: 2 * base }] })
  const { input_mtok, output_mtok } = before
  const then = { ...before, input_mtok: twice(input_mtok), output_mtok: twice(output_mtok) }
  return [{ constraint: { start_date: twiceSince }, prices: then }, now]
}

const GEMINI = 'https://ai.google.dev/gemini-api/docs/pricing'
const GEMINI_FLASH_USUAL = { input_mtok: 1.5, cache_read_mtok: 0.15, output_mtok: 7.5 }
const GEMINI_FLASH_HALVED = { input_mtok: 0.75, cache_read_mtok: 0.075, output_mtok: 3.75 }

/** What these two names have cost since the off-peak discount of 2025 ended, and until they were retired. */
const DEEPSEEK_ALIASES: readonly DatedCorrection[] = [
  {
    constraint: { start_date: '2025-09-05' },
    prices: { input_mtok: 0.56, cache_read_mtok: 0.07, output_mtok: 1.68 },
  },
  {
    constraint: { start_date: '2025-09-29' },
    prices: { input_mtok: 0.28, cache_read_mtok: 0.028, output_mtok: 0.42 },
  },
  {
    constraint: { start_date: '2026-04-24' },
    prices: { input_mtok: 0.14, cache_read_mtok: 0.0028, output_mtok: 0.28 },
  },
  { constraint: { start_date: '2026-07-25' }, prices: {} },
]

/** By provider and model. The first that is for a name counts. */
export const MODEL_CORRECTIONS: readonly ModelCorrection[] = [
  {
    providerId: 'deepseek',
    id: 'deepseek-flash',
    from: '2026-09-10',
    prices: DEEPSEEK_FLASH,
    replaces: { input_mtok: 0.15, cache_read_mtok: 0.003, output_mtok: 0.6 },
    why: 'the source has peak hours on Saturdays and Sundays too; others have their price alone, for all hours',
    source: DEEPSEEK,
    seen,
  },
  {
    providerId: 'deepseek',
    id: 'deepseek-v4-flash',
    from: '2026-10-17',
    prices: DEEPSEEK_FLASH,
    replaces: { input_mtok: 0.15, cache_read_mtok: 0.003, output_mtok: 0.6 },
    why: 'a name of old, served and billed as deepseek-flash',
    source: DEEPSEEK,
    seen,
  },
  {
    providerId: 'deepseek',
    id: 'deepseek-v4-pro',
    from: '2026-08-17',
    prices: atPeak(
      { input_mtok: 0.66, cache_read_mtok: 0.022, output_mtok: 1.98 },
      { input_mtok: 1.32, cache_read_mtok: 0.044, output_mtok: 3.96 },
    ),
    replaces: { input_mtok: 0.66, cache_read_mtok: 0.022, output_mtok: 1.98 },
    why: 'the source has peak hours on Saturdays and Sundays too',
    source: DEEPSEEK,
    seen,
  },
  {
    providerId: 'deepseek',
    id: 'deepseek-v3.2',
    prices: { input_mtok: 0.28, cache_read_mtok: 0.028, output_mtok: 0.42 },
    replaces: { input_mtok: 0.2288, output_mtok: 0.3432 },
    why: 'the source has the price of a router; LiteLLM has this one, its output rounded',
    source: DEEPSEEK,
    seen: '2026-11-26',
  },
  ...['deepseek-chat', 'deepseek-reasoner'].map(
    (id): ModelCorrection => ({
      providerId: 'deepseek',
      id,
      from: '2025-09-05',
      prices: DEEPSEEK_ALIASES,
      replaces: { input_mtok: 0.135, cache_read_mtok: 0.035, output_mtok: 0.55 },
      why: 'the source has the discount by hour that ended on that day; since 2026-07-24 no model answers to the name',
      source: DEEPSEEK,
      seen,
    }),
  ),
  ...RETIRED_GROKS.map(
    (grok): ModelCorrection => ({
      providerId: 'x-ai',
      id: grok.names[0],
      names: grok.names,
      from: grok.twiceSince ?? GROKS_RETIRED_ON,
      prices: retiredGrokPrices(grok),
      replaces: grok.before,
      why: 'a name of old, served and billed as grok-4.3 since 2026-05-15; the source has the model that was',
      source: XAI,
      seen: '2026-11-25',
    }),
  ),
  {
    providerId: 'x-ai',
    id: 'grok-code-fast-1',
    names: ['grok-code-fast-1', 'grok-code-fast', 'grok-code-fast-1-0825'],
    from: '2026-05-16',
    prices: [
      { prices: GROK_4_3 },
      // The page named another heir ten days later.
      { constraint: { start_date: '2026-05-25' }, prices: GROK_BUILD },
    ],
    replaces: { input_mtok: 0.2, cache_read_mtok: 0.02, output_mtok: 1.5 },
    why: 'a name of old, served and billed as grok-build-0.1, as LiteLLM has it; the source has the model that was',
    source: XAI,
    seen: '2026-11-25',
  },
  {
    providerId: 'google',
    id: 'gemini-3.6-flash',
    prices: [
      { prices: GEMINI_FLASH_USUAL },
      { constraint: { start_date: '2026-08-20' }, prices: GEMINI_FLASH_HALVED },
      { constraint: { start_date: '2027-01-01' }, prices: GEMINI_FLASH_USUAL },
    ],
    replaces: GEMINI_FLASH_HALVED,
    why: 'the source has the lower price for the days before it too',
    source: GEMINI,
    seen,
  },
  {
    providerId: 'google',
    id: 'gemini-flash-latest',
    prices: [
      { prices: { input_mtok: 0.3, cache_read_mtok: 0.03, output_mtok: 2.5 } },
      {
        constraint: { start_date: '2026-01-21' },
        prices: { input_mtok: 0.5, cache_read_mtok: 0.05, output_mtok: 3 },
      },
      {
        constraint: { start_date: '2026-05-19' },
        prices: { input_mtok: 1.5, cache_read_mtok: 0.15, output_mtok: 9 },
      },
      { constraint: { start_date: '2026-07-21' }, prices: GEMINI_FLASH_USUAL },
      { constraint: { start_date: '2026-08-13' }, prices: GEMINI_FLASH_HALVED },
      { constraint: { start_date: '2027-01-01' }, prices: GEMINI_FLASH_USUAL },
    ],
    replaces: GEMINI_FLASH_HALVED,
    why: 'the source has the price of the model of now for all days; by the log of changes it was 2.5, 3, 3.5, 3.6, 3.7',
    source: 'https://ai.google.dev/gemini-api/docs/changelog',
    seen,
  },
  ...(['google', 'google-vertex'] as const).map(
    (providerId): ModelCorrection => ({
      providerId,
      id: 'gemini-4-carbon',
      prices: [
        { prices: { input_mtok: 2, cache_read_mtok: 0.1, output_mtok: 10 } },
        {
          constraint: { start_date: '2026-12-01' },
          prices: { input_mtok: 4, cache_read_mtok: 0.2, output_mtok: 20 },
        },
      ],
      replaces: null,
      why: 'models.dev has the price of its first weeks alone, which ends as that of gemini-4-argon does',
      source: GEMINI,
      seen: '2026-11-27',
    }),
  ),
  {
    providerId: 'google-vertex',
    id: 'gemini-3.1-pro-preview-customtools',
    prices: {
      input_mtok: { base: 2, tiers: [{ start: 200_000, price: 4 }] },
      cache_read_mtok: { base: 0.2, tiers: [{ start: 200_000, price: 0.4 }] },
      output_mtok: { base: 12, tiers: [{ start: 200_000, price: 18 }] },
    },
    replaces: null,
    why: 'models.dev has no price for long prompts there; at Gemini it has, and so has LiteLLM at both',
    source: 'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
    seen: '2026-11-26',
  },
  {
    providerId: 'anthropic',
    id: 'claude-mythos-preview',
    prices: {
      input_mtok: 25,
      cache_read_mtok: 2.5,
      cache_write_mtok: 31.25,
      cache_write_1h_mtok: 50,
      output_mtok: 125,
    },
    replaces: null,
    why: "LiteLLM has the prices of its successor, and at Bedrock these, a region's tenth above",
    source: 'https://www.anthropic.com/glasswing',
    seen: '2026-11-25',
  },
  {
    providerId: 'cohere',
    id: 'embed-multilingual-light-v3.0',
    prices: { input_mtok: 0.1 },
    replaces: null,
    why: 'LiteLLM has the price of a thousand tokens as that of one',
    source: 'https://cohere.com/pricing',
    seen: '2026-11-27',
  },
  {
    providerId: 'openai',
    id: 'davinci:2023-07-21-v2',
    prices: { input_mtok: 2, output_mtok: 2 },
    replaces: null,
    why: 'what davinci-002 calls itself in its answers; the davinci of before cost ten times that',
    source: 'https://developers.openai.com/api/docs/pricing',
    seen: '2026-11-27',
  },
  {
    providerId: 'openai',
    id: 'babbage:2023-07-21-v2',
    prices: { input_mtok: 0.4, output_mtok: 0.4 },
    replaces: null,
    why: 'what babbage-002 calls itself in its answers',
    source: 'https://developers.openai.com/api/docs/pricing',
    seen: '2026-11-27',
  },
  ...(['openai', 'azure'] as const).map(
    (providerId): ModelCorrection => ({
      providerId,
      id: 'gpt-4o-realtime-preview-2024-10-01',
      prices: {
        input_mtok: 5,
        cache_read_mtok: 2.5,
        output_mtok: 20,
        input_audio_mtok: 100,
        cache_audio_read_mtok: 20,
        output_audio_mtok: 200,
      },
      replaces: null,
      why: 'the source has the audio of the revisions after it, which cost two fifths and less',
      source: 'https://openai.com/index/introducing-the-realtime-api',
      seen,
    }),
  ),
  {
    providerId: 'azure',
    id: 'gpt-4-turbo-2024-04-09',
    prices: { input_mtok: 10, output_mtok: 30 },
    replaces: null,
    why: "LiteLLM has a data zone's price under the global name",
    source: 'https://azure.microsoft.com/pricing/details/azure-openai',
    seen,
  },
  {
    providerId: 'cloudflare',
    id: '@cf/zai-org/glm-4.7-flash',
    prices: { input_mtok: 0.0605, output_mtok: 0.4 },
    replaces: { input_mtok: 0.06 },
    why: 'the source has a rounded figure; models.dev and LiteLLM have this one',
    source: 'https://developers.cloudflare.com/workers-ai/platform/pricing',
    seen,
  },
  ...(
    [
      ['openai/gpt-4.1-nano', { input_mtok: 0.1, cache_read_mtok: 0.025, output_mtok: 0.4 }],
      ['openai/gpt-5-codex', { input_mtok: 1.25, cache_read_mtok: 0.125, output_mtok: 10 }],
      ['openai/gpt-5.1-codex', { input_mtok: 1.25, cache_read_mtok: 0.125, output_mtok: 10 }],
      ['openai/gpt-5.1-codex-mini', { input_mtok: 0.25, cache_read_mtok: 0.025, output_mtok: 2 }],
      [
        'google/gemini-3.1-flash-lite',
        {
          input_mtok: 0.25,
          cache_read_mtok: 0.025,
          output_mtok: 1.5,
          input_audio_mtok: 0.5,
          cache_audio_read_mtok: 0.05,
        },
      ],
    ] as const
  ).map(
    ([id, prices]): ModelCorrection => ({
      providerId: 'vercel',
      id,
      prices,
      replaces: null,
      why: "sold at the maker's price, which the list of models rounds to whole cents",
      source: 'https://vercel.com/docs/ai-gateway/pricing',
      seen,
    }),
  ),
]
