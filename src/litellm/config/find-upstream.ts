import { entryOf, PROVIDERS, type Provider } from '../../providers/registry.ts'

/** An entry of `upstreams`, without its name. */
export interface FoundUpstream {
  readonly url: string
  readonly provider: Provider
  readonly api_key_env?: string
}

export type FoundDeployment =
  | {
      readonly kind: 'found'
      readonly upstream: FoundUpstream
      /** The model's name there. */
      readonly model: string
      /** The key stands in the file itself, or in a variable that cannot be named here, and is not taken over. */
      readonly hasWrittenKey: boolean
    }
  | { readonly kind: 'none'; readonly why: string }

/** Names that LiteLLM writes before a model, and the provider here. Others are called alike. */
const PREFIXES: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  ['azure', 'azure-openai'],
  ['azure_ai', 'azure-ai'],
  ['together_ai', 'together'],
  ['fireworks_ai', 'fireworks'],
  ['hosted_vllm', 'vllm'],
  ['ollama_chat', 'ollama'],
  ['vertex_ai', 'vertex'],
  ['lm_studio', 'lmstudio'],
  ['moonshot', 'moonshotai'],
  ['litellm_proxy', 'litellm-proxy'],
  ['voyage', 'voyageai'],
])

const NAMES: ReadonlyMap<Provider, string> = new Map<Provider, string>([
  ...[...PREFIXES].map(([name, provider]) => [provider, name] as const),
  ['ollama', 'ollama'],
  ['openai-compatible', 'openai'],
])

/** What LiteLLM calls a provider of ours. */
export function liteLlmNameOf(provider: Provider): string {
  return NAMES.get(provider) ?? provider
}

/** What stands behind the host where it is not nothing. */
const BASE_PATHS: ReadonlyMap<Provider, string> = new Map<Provider, string>([
  ['groq', '/openai'],
  ['openrouter', '/api'],
  ['fireworks', '/inference'],
])

/** A key by the name of a variable that a configuration here can name. */
const KEY_VARIABLE = /^os\.environ\/([A-Za-z_]\w*)$/

/** They are proven by other things than a key; LiteLLM takes those from the environment. */
const OWN_CREDENTIALS = new Set<Provider>(['bedrock', 'vertex'])

/** Makers of models that LiteLLM knows by a name without a provider before it. */
const MAKERS: readonly (readonly [name: RegExp, provider: Provider])[] = [
  [
    /^(?:ft:)?(?:gpt-|chatgpt-|codex-|o\d|davinci|babbage)|^(?:text-embedding-|(?:text|omni)-moderation-|dall-e-|sora-|tts-|whisper-)/,
    'openai',
  ],
  [/^claude-/, 'anthropic'],
  [/^(?:command-|embed-(?:english|multilingual)-)/, 'cohere'],
]

/** What LiteLLM calls the provider, where that is said or known, and the model's name there. */
function splitModel(
  written: string,
  provider: unknown,
): { readonly prefix: string | null; readonly model: string } {
  const slash = written.indexOf('/')
  const before = slash === -1 ? null : written.slice(0, slash)
  const prefix = typeof provider === 'string' && provider !== '' ? provider : before
  if (prefix === null)
    return { prefix: MAKERS.find(([name]) => name.test(written))?.[1] ?? null, model: written }
  return { prefix, model: before === prefix ? written.slice(slash + 1) : written }
}

/** Where a deployment is, by the parameters of `litellm_params`. */
export function findUpstream(params: Readonly<Record<string, unknown>>): FoundDeployment {
  const { model: written, api_base: base, api_key: key, custom_llm_provider: named } = params
  if (typeof written !== 'string' || written === '')
    return { kind: 'none', why: 'it has no litellm_params.model' }
  const { prefix, model } = splitModel(written, named)
  // A key goes to no maker by guess.
  if (prefix === null)
    return {
      kind: 'none',
      why: `its provider is not known: write it before the model, as in openai/${written}`,
    }
  const provider = PREFIXES.get(prefix) ?? PROVIDERS.find((name) => name === prefix)
  if (provider === undefined) return { kind: 'none', why: `there is no provider ${prefix} here` }
  if (OWN_CREDENTIALS.has(provider))
    return { kind: 'none', why: `write its upstream by hand: ${provider} needs credentials: and a region` }
  const url = typeof base === 'string' && base !== '' ? base : urlOf(provider)
  if (url === null || !URL.canParse(url) || !/^https?:/.test(url))
    return { kind: 'none', why: `its address is not known, as api_base is not a URL` }
  const variable = typeof key === 'string' ? (KEY_VARIABLE.exec(key)?.[1] ?? null) : null
  const hasWrittenKey = typeof key === 'string' && key !== '' && variable === null
  const name = variable ?? `${provider.toUpperCase().replaceAll('-', '_')}_API_KEY`
  const upstream = {
    url: provider === 'azure-openai' ? `${new URL(url).origin}/openai/v1` : url.replace(/\/+$/, ''),
    // An address of one's own that speaks OpenAI's API is not OpenAI.
    provider:
      provider === 'openai' && typeof base === 'string' && !isHostOf(provider, url)
        ? 'openai-compatible'
        : provider,
    ...(hasWrittenKey || variable !== null || typeof base !== 'string' ? { api_key_env: name } : {}),
  } as const satisfies FoundUpstream
  return { kind: 'found', upstream, model, hasWrittenKey }
}

function urlOf(provider: Provider): string | null {
  const host = entryOf(provider).hosts.find((name) => !name.includes('*'))
  return host === undefined ? null : `https://${host}${BASE_PATHS.get(provider) ?? ''}`
}

function isHostOf(provider: Provider, url: string): boolean {
  const { hostname } = new URL(url)
  return entryOf(provider).hosts.some((name) => name === hostname)
}
