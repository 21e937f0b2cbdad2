import { pageOf } from '../corrections/price-page.ts'
import type { TierPrice } from '../corrections/tier-price.ts'

/**
 * What tokens cost where a model is served, against the price at the provider's global or usual place. The word of a place
 * stands in `tier`. A model that is not here costs the same everywhere.
 */

// Taken from the price list of LiteLLM 1.109.1, Azure's also from its own meters of 2026-08-11.
const SEEN = '2026-11-25'
const OPENAI = pageOf(['openai'], 'https://developers.openai.com/api/docs/models/gpt-5.4', SEEN)
const AZURE = pageOf(
  ['azure-openai', 'azure-ai'],
  'https://azure.microsoft.com/pricing/details/azure-openai',
  SEEN,
)
const VERTEX = pageOf(
  ['vertex'],
  'https://cloud.google.com/gemini-enterprise-agent-platform/generative-ai/pricing',
  SEEN,
)
const BEDROCK = pageOf(['bedrock'], 'https://aws.amazon.com/bedrock/pricing', SEEN)

/** The regions that hosts of OpenAI name: `eu.api.openai.com`. */
const OPENAI_REGIONS = ['eu', 'us', 'au', 'ca', 'jp', 'in', 'sg', 'kr', 'gb', 'ae']

const SOLD_BY_AZURE =
  /^(?:gpt-(?:4o|4\.[15]|[5-9]|\d\d|image|realtime|audio|chat)|chatgpt|o\d|codex|computer-use|text-embedding|grok-4\.3)/
/** Of the zones of these the European one costs more than the American. */
const SINCE_GPT_6 = /^gpt-(?:[6-9]|\d\d)/
/** Azure rounds the price of cached tokens, so that these have factors of their own. */
const AZURE_ROUNDED: readonly (readonly [models: RegExp, cacheRead: string])[] = [
  [/^gpt-4o-mini(?:-2024-07-18)?$/, '1.1066667'],
  [/^gpt-4\.1-nano/, '1.12'],
  [/^o4-mini/, '1.1018182'],
  [/^gpt-5-codex$/, '1.104'],
  [/^codex-mini/, '1.1013333'],
]

function inZone(tier: string, models: RegExp): TierPrice[] {
  const factor = '1.1'
  return [
    ...AZURE_ROUNDED.map(([of, cacheRead]) => ({
      ...AZURE,
      models: of,
      tier,
      factor,
      except: { cacheRead },
    })),
    { ...AZURE, models, tier, factor },
  ]
}

const ELSEWHERE = ['ap-northeast-1', 'ap-south-1', 'ap-southeast-3', 'eu-north-1', 'sa-east-1']
const IN_EUROPE = ['eu-central-1', 'eu-west-1', 'eu-south-1']
const GOVERNMENT = ['us-gov-west-1', 'us-gov-east-1']

function inRegions(regions: readonly string[], models: RegExp, price: Pick<TierPrice, 'factor' | 'except'>) {
  return regions.map((tier): TierPrice => ({ ...BEDROCK, models, tier, ...price }))
}

/** The first that fits decides. */
export const PLACE_PRICES: readonly TierPrice[] = [
  ...OPENAI_REGIONS.map((tier) => ({
    ...OPENAI,
    models: /^gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d|realtime-2\.1)/,
    tier,
    factor: '1.1',
  })),

  ...inZone('data-zone-us', SOLD_BY_AZURE),
  { ...AZURE, models: SINCE_GPT_6, tier: 'data-zone-eu', factor: '1.2' },
  ...inZone('data-zone-eu', SOLD_BY_AZURE),
  { ...AZURE, models: /^gpt-4o(?:-2024-11-20)?$/, tier: 'data-zone-apac', factor: '1.1' },
  { ...AZURE, models: SOLD_BY_AZURE, tier: 'data-zone-apac', factor: '1.2', from: '2026-06-01' },
  ...inZone('data-zone', new RegExp(`^(?!${SINCE_GPT_6.source.slice(1)})${SOLD_BY_AZURE.source.slice(1)}`)),
  // In the United States; up to a third more elsewhere. Newer models are not sold so.
  ...inZone(
    'regional',
    /^(?:gpt-(?:4o|4\.[15]|realtime)|chatgpt-4|o\d|codex-mini|computer-use|text-embedding)/,
  ),

  {
    ...VERTEX,
    models:
      /^(?:claude-(?:(?:haiku|opus|sonnet)-4-[5-9]|(?:haiku|opus|sonnet|fable|mythos)-[5-9])|gemini-(?:3\.[5-9]-flash(?:-(?:lite|cyber))?|3\.1-flash-(?:image|lite)|4-argon(?:-cyber-permissive)?)(?:-preview)?$)/,
    tier: 'regional',
    factor: '1.1',
  },

  ...inRegions([...ELSEWHERE, ...IN_EUROPE], /minimax\.minimax-m2\.[15]$/, { factor: '1.2' }),
  ...inRegions(ELSEWHERE, /moonshotai\.kimi-k2\.5$/, { factor: '1.2' }),
  ...inRegions(
    ['ap-northeast-1', 'ap-south-1', 'ap-southeast-3', 'sa-east-1', ...IN_EUROPE],
    /qwen\.qwen3-coder-next$/,
    {
      factor: '1.2',
    },
  ),
  ...inRegions(ELSEWHERE, /deepseek\.v3\.2$/, { factor: '1.2', except: { input: '1.1935484' } }),
  ...inRegions(['ap-south-1'], /meta\.llama3-(?:8|70)b-instruct/, { factor: '1.2' }),
  ...inRegions(['eu-west-2'], /meta\.llama3-8b-instruct/, { factor: '1.3' }),
  ...inRegions(['eu-west-3'], /mistral\.mistral-large-2402/, { factor: '1.3' }),
  ...inRegions(GOVERNMENT, /amazon\.nova-(?:pro|lite|micro)-v1|nvidia\.nemotron|openai\.gpt-oss/, {
    factor: '1.2',
  }),
]
