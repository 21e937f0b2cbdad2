import type { SetName } from '../sets.ts'
import { anthropic } from './fakes/anthropic.ts'
import { bedrock } from './fakes/bedrock.ts'
import { google } from './fakes/google.ts'
import { mistralRefusal, openAi } from './fakes/openai.ts'
import { cohere, ollama } from './fakes/others.ts'
import type { Family } from './fakes/provider.ts'

export interface StandIn {
  readonly family: Family
  /** The models that belong to it where nothing but their names decides. */
  readonly models: readonly string[]
}

/** Stand-ins of providers, by the names of their upstreams. Each has a port of its own. */
export const PROVIDERS = {
  openai: {
    family: openAi(['gpt-4o-mini', 'text-embedding-3-small']),
    models: ['gpt-*', 'text-embedding-*'],
  },
  anthropic: { family: anthropic(), models: ['claude-*'] },
  gemini: { family: google(), models: ['gemini-*'] },
  bedrock: { family: bedrock(), models: ['anthropic.*'] },
  cohere: { family: cohere(), models: ['command-*', 'embed-*'] },
  mistral: {
    family: openAi(['mistral-large-2512', 'mistral-embed'], mistralRefusal),
    models: ['mistral-*'],
  },
  groq: { family: openAi(['llama-3.1-8b-instant']), models: ['llama-3.1-*'] },
  ollama: { family: ollama(), models: ['llama3.2', 'nomic-*'] },
} as const satisfies Readonly<Record<string, StandIn>>

export type ProviderName = keyof typeof PROVIDERS

/**
 * List prices per million tokens in micro-dollars, input and output, worked out by hand from the providers' pages. A
 * model that is not here has no price that the gateway could know.
 */
export const MICRO_USD: Readonly<Record<string, readonly [bigint, bigint]>> = {
  'gpt-4o-mini': [150_000n, 600_000n],
  'text-embedding-3-small': [20_000n, 0n],
  'claude-haiku-4-5': [1_000_000n, 5_000_000n],
  'gemini-2.5-flash': [300_000n, 2_500_000n],
  'anthropic.claude-haiku-4-5-20251001-v1:0': [1_000_000n, 5_000_000n],
  'command-r-08-2024': [150_000n, 600_000n],
  'mistral-large-2512': [500_000n, 1_500_000n],
  'mistral-embed': [100_000n, 0n],
  'embed-v4.0': [120_000n, 0n],
  'llama-3.1-8b-instant': [50_000n, 80_000n],
  'llama3.2': [30_000n, 90_000n],
}

/** What a server of one's own costs its operator has to say: a budget takes priced calls only. */
export const OWN_PRICES = `prices:
  - { model: 'llama3.2', provider: ollama, input: '0.03', output: '0.09' }
`

export interface Row {
  readonly name: string
  readonly set: SetName
  readonly provider: ProviderName
  /** A file of `python` or `node`, a class of `java`; `go`: what `FAMILY` names. */
  readonly program: string
  /** What one program does for several rows. */
  readonly variant: string
}

function row(name: string, set: SetName, provider: ProviderName, program: string, variant = ''): Row {
  return { name, set, provider, program, variant }
}

/** Each client, as it is installed today. */
const ALL: readonly Row[] = [
  row('openai (Python)', 'python', 'openai', 'use_openai.py'),
  row('openai (Node)', 'node', 'openai', 'use-openai.mjs'),
  row('openai-go', 'go', 'openai', 'clients', 'openai'),
  row('openai-java', 'java', 'openai', 'UseOpenAi'),
  row('anthropic (Python)', 'python', 'anthropic', 'use_anthropic.py'),
  row('@anthropic-ai/sdk', 'node', 'anthropic', 'use-anthropic.mjs'),
  row('anthropic-sdk-go', 'go', 'anthropic', 'clients', 'anthropic'),
  row('anthropic-java', 'java', 'anthropic', 'UseAnthropic'),
  row('google-genai (Python)', 'python', 'gemini', 'use_google.py'),
  row('@google/genai', 'node', 'gemini', 'use-google.mjs'),
  row('genai (Go)', 'go', 'gemini', 'clients', 'gemini'),
  row('mistralai', 'python', 'mistral', 'use_mistral.py'),
  row('cohere', 'python', 'cohere', 'use_cohere.py'),
  row('groq', 'python', 'groq', 'use_groq.py'),
  row('ollama', 'python', 'ollama', 'use_ollama.py'),
  row('boto3', 'python', 'bedrock', 'use_boto3.py'),
  row('AWS SDK for JS, HTTP/1.1', 'node', 'bedrock', 'use-bedrock.mjs', 'HTTP/1.1'),
  row('AWS SDK for JS, HTTP/2', 'node', 'bedrock', 'use-bedrock.mjs', 'HTTP/2'),
  row('LangChain: OpenAI', 'langchain', 'openai', 'use_langchain.py', 'openai'),
  row('LangChain: Anthropic', 'langchain', 'anthropic', 'use_langchain.py', 'anthropic'),
  row('LangChain: Google', 'langchain', 'gemini', 'use_langchain.py', 'gemini'),
  row('LlamaIndex: OpenAI', 'llama-index', 'openai', 'use_llama_index.py'),
  row('AI SDK: OpenAI chat', 'ai-sdk', 'openai', 'use-ai-sdk.mjs', 'openai'),
  row('AI SDK: OpenAI responses', 'ai-sdk', 'openai', 'use-ai-sdk.mjs', 'responses'),
  row('AI SDK: Anthropic', 'ai-sdk', 'anthropic', 'use-ai-sdk.mjs', 'anthropic'),
  row('AI SDK: Google', 'ai-sdk', 'gemini', 'use-ai-sdk.mjs', 'gemini'),
  row('pydantic-ai: OpenAI', 'pydantic-ai', 'openai', 'use_pydantic_ai.py', 'openai'),
  row('pydantic-ai: Anthropic', 'pydantic-ai', 'anthropic', 'use_pydantic_ai.py', 'anthropic'),
  row('pydantic-ai: Google', 'pydantic-ai', 'gemini', 'use_pydantic_ai.py', 'gemini'),
  row('litellm: OpenAI', 'litellm', 'openai', 'use_litellm.py', 'openai'),
  row('litellm: Anthropic', 'litellm', 'anthropic', 'use_litellm.py', 'anthropic'),
  row('litellm: Google', 'litellm', 'gemini', 'use_litellm.py', 'gemini'),
  row('Claude Code', 'claude-code', 'anthropic', 'use-command.mjs', 'claude-code'),
  row('Codex', 'codex', 'openai', 'use-command.mjs', 'codex'),
  row('gemini-cli', 'gemini-cli', 'gemini', 'use-command.mjs', 'gemini-cli'),
  row('opencode', 'opencode', 'openai', 'use-command.mjs', 'opencode'),
  row('aider: OpenAI', 'aider', 'openai', 'use_aider.py', 'openai'),
  row('aider: Anthropic', 'aider', 'anthropic', 'use_aider.py', 'anthropic'),
  row('Chromium, another origin', 'chromium', 'openai', 'use-chromium.mjs'),
]

/** All of them, or those that the expression in CLIENTS finds. */
export const ROWS = ALL.filter(({ name }) => new RegExp(process.env.CLIENTS ?? '', 'i').test(name))
export const isWhole = ROWS.length === ALL.length
