import { BEDROCK_ELSEWHERE } from '../../pricing/catalog/catalog-providers.ts'
import type { Provider } from '../../providers/dialect.ts'

/** Host names, `*.` before one standing for any subdomains, `*` inside a label for any text of that label. */
const PROVIDER_HOSTS: readonly (readonly [Provider, readonly string[]])[] = [
  ['openai', ['api.openai.com', '*.api.openai.com']],
  ['azure-openai', ['*.openai.azure.com', '*.openai.azure.us', '*.cognitiveservices.azure.com']],
  ['azure-ai', ['*.services.ai.azure.com', '*.inference.ai.azure.com', '*.models.ai.azure.com']],
  ['anthropic', ['api.anthropic.com']],
  ['gemini', ['generativelanguage.googleapis.com']],
  ['vertex', ['*-aiplatform.googleapis.com', 'aiplatform.googleapis.com', 'aiplatform.*.rep.googleapis.com']],
  [
    'bedrock',
    [
      'bedrock-runtime.*.amazonaws.com',
      'bedrock-runtime-fips.*.amazonaws.com',
      'bedrock-runtime.*.amazonaws.com.cn',
      'bedrock-mantle.*.api.aws',
    ],
  ],
  ['xai', ['api.x.ai', '*.api.x.ai']],
  ['openrouter', ['openrouter.ai']],
  ['mistral', ['api.mistral.ai', 'codestral.mistral.ai']],
  ['groq', ['api.groq.com']],
  ['deepseek', ['api.deepseek.com']],
  ['cohere', ['api.cohere.com', 'api.cohere.ai']],
  ['perplexity', ['api.perplexity.ai']],
  ['together', ['api.together.xyz', 'api.together.ai']],
  ['fireworks', ['api.fireworks.ai']],
  ['cerebras', ['api.cerebras.ai']],
  ['databricks', ['*.databricks.com', '*.azuredatabricks.net']],
  ['vercel-gateway', ['ai-gateway.vercel.sh']],
  ['cloudflare', ['gateway.ai.cloudflare.com', 'api.cloudflare.com']],
  ['huggingface-router', ['router.huggingface.co']],
  ['alibaba', ['dashscope.aliyuncs.com', 'dashscope-*.aliyuncs.com', '*.maas.aliyuncs.com']],
  ['moonshotai', ['api.moonshot.ai', 'api.moonshot.cn']],
  ['zai', ['api.z.ai', 'open.bigmodel.cn']],
  ['voyageai', ['api.voyageai.com']],
]

const PROVIDER_PATTERNS = PROVIDER_HOSTS.flatMap(([provider, hosts]) =>
  hosts.map((host) => ({ provider, pattern: hostPattern(host) })),
)

function hostPattern(host: string): RegExp {
  const anySubdomains = host.startsWith('*.')
  const literal = (anySubdomains ? host.slice(2) : host).replaceAll('.', '\\.').replaceAll('*', '[a-z0-9-]+')
  return new RegExp(`^${anySubdomains ? '([a-z0-9-]+\\.)+' : ''}${literal}$`)
}

/** The provider that serves at `host` (lower case, without port); anybody else's is `openai-compatible`. */
export function providerOfHost(host: string): Provider {
  return PROVIDER_PATTERNS.find(({ pattern }) => pattern.test(host))?.provider ?? 'openai-compatible'
}

/** Who says in its answers what a call cost, and bills that. */
const SAY_THEIR_COST: ReadonlySet<Provider> = new Set(['openrouter', 'perplexity', 'xai', 'vercel-gateway'])

/**
 * Whether the word of `host` on the cost of a call is believed unless the configuration says otherwise: known by its
 * address, as whoever else is called so by a configuration (a proxy, a mock) may say anything.
 */
export function saysItsCost(host: string): boolean {
  return SAY_THEIR_COST.has(providerOfHost(host))
}

const BEDROCK_REGION = /^bedrock[a-z-]*\.([a-z]{2}(?:-[a-z]+)+-[0-9]+)\./

/** What a host alone says of whose prices hold there; `null`: nothing but its provider's. */
export function pricesOfHost(provider: string, host: string): string | null {
  if (provider !== 'bedrock') return null
  const region = BEDROCK_REGION.exec(host.toLowerCase())?.[1]
  return region === undefined || /^us-(?:east|west)-/.test(region) ? null : BEDROCK_ELSEWHERE
}
