import { compilePathPatterns } from '../domain/path-patterns.ts'
import type { Provider } from './dialect.ts'

/** One group of paths that no dialect reads, and why. */
export interface EndpointGroup {
  /** As {@link compilePathPatterns} takes them. */
  readonly patterns: readonly string[]
  readonly why: string
  /** Absent: all. */
  readonly providers?: readonly Provider[]
  /** Absent: never billed. What tells the usage of work that this call only begins. */
  readonly reportedBy?: string
}

const GOOGLE = ['gemini', 'vertex', 'litellm-proxy', 'cloudflare', 'openai-compatible'] as const
const OPENAI = ['openai', 'azure-openai', 'azure-ai', 'litellm-proxy', 'openai-compatible'] as const
/** Where a router lets nothing through below a path that it serves. */
const OPENAI_ITSELF = ['openai', 'azure-openai', 'azure-ai'] as const
const ANTHROPIC = ['anthropic', 'azure-ai', 'litellm-proxy', 'openai-compatible'] as const

/**
 * THE list of requests with a body that are known to be free. What stands neither here nor among the metered
 * endpoints is unread: without a price, never 0. When in doubt it stays out.
 */
export const FREE_ENDPOINTS: readonly EndpointGroup[] = [
  {
    patterns: [
      'POST **/messages/count_tokens',
      'POST **/responses/input_tokens',
      'POST **/tokenize',
      'POST **/detokenize',
    ],
    why: 'counts tokens and generates nothing',
  },
  {
    patterns: [
      'POST **:countTokens',
      'POST **:countTextTokens',
      'POST **:countMessageTokens',
      'POST **:computeTokens',
    ],
    why: 'counts tokens and generates nothing',
    providers: GOOGLE,
  },
  {
    patterns: ['POST /model/*/count-tokens'],
    why: 'counts tokens and generates nothing',
    providers: ['bedrock'],
  },
  {
    patterns: ['POST /utils/token_counter'],
    why: 'counts tokens and generates nothing',
    providers: ['litellm-proxy'],
  },
  {
    patterns: [
      'POST **/v1/files',
      'POST **/v1/uploads',
      'POST **/v1/uploads/*/parts',
      'POST **/v1/uploads/*/complete',
      'POST **/v1/uploads/*/cancel',
    ],
    why: 'storing a file is not billed per call',
  },
  {
    patterns: ['POST /upload/*/files', 'POST /v1*/files', 'POST /v1*/files:register'],
    why: 'storing a file is not billed per call',
    providers: GOOGLE,
  },
  {
    patterns: [
      'POST **/v1/chat/completions/*',
      'POST **/v1/conversations',
      'POST **/v1/conversations/*',
      'POST **/v1/conversations/*/items',
      'POST **/v1/assistants',
      'POST **/v1/assistants/*',
      'POST **/v1/threads',
      'POST **/v1/threads/*/messages',
      'POST **/v1/threads/*/messages/*',
      'POST **/v1/threads/*/runs/*',
      'POST **/v1/evals',
      'POST **/v1/evals/*',
      'POST **/v1/fine_tuning/alpha/graders/validate',
    ],
    why: 'stores or changes an object and generates nothing',
    providers: OPENAI_ITSELF,
  },
  {
    patterns: ['POST **/v1/skills', 'POST **/v1/skills/*', 'POST **/v1/skills/*/versions'],
    why: 'stores or changes an object and generates nothing',
    providers: [...OPENAI, 'anthropic'],
  },
  {
    patterns: [
      'POST **/v1/agents',
      'POST **/v1/agents/*',
      'POST **/v1/agents/*/archive',
      'POST **/v1/memory_stores',
      'POST **/v1/memory_stores/**',
    ],
    why: 'stores or changes an object and generates nothing',
    providers: ['anthropic'],
  },
  {
    patterns: [
      'POST **/batches/*/cancel',
      'POST **/runs/*/cancel',
      'POST **/file_batches/*/cancel',
      'POST **/fine_tuning/jobs/*/cancel',
      'POST **/fine_tuning/jobs/*/pause',
      'POST **/batches/*:cancel',
      'POST **/operations/*:cancel',
    ],
    why: 'ends work and begins none',
  },
  {
    patterns: ['POST **/v1/batches', 'POST **/v1/fine_tuning/jobs', 'POST **/v1/fine_tuning/jobs/*/resume'],
    why: 'begins work that is billed when it is done',
    reportedBy: 'GET of the batch or job',
    providers: OPENAI,
  },
  {
    patterns: ['POST **/v1/evals/*/runs'],
    why: 'begins work that is billed when it is done',
    reportedBy: 'GET of the run',
    providers: OPENAI,
  },
  {
    patterns: ['POST **/v1/batch/jobs', 'POST **/v1/fine_tuning/jobs'],
    why: 'begins work that is billed when it is done',
    reportedBy: 'GET of the job, or of the file that it leaves',
    providers: ['mistral'],
  },
  {
    patterns: ['POST **:batchGenerateContent'],
    why: 'begins work that is billed when it is done',
    reportedBy: 'GET of the batch, or of the file that it leaves',
    providers: GOOGLE,
  },
  {
    patterns: ['POST **/v1/messages/batches'],
    why: 'begins work that is billed when it is done',
    reportedBy: 'GET /v1/messages/batches/{id}/results',
    providers: ANTHROPIC,
  },
  {
    patterns: ['POST **:fetchPredictOperation'],
    why: 'asks how far work is that was begun before',
    providers: GOOGLE,
  },
  {
    patterns: ['POST **/api/show'],
    why: 'reads what a model is',
    providers: ['ollama', 'openai-compatible'],
  },
  {
    patterns: ['POST **/apply-template'],
    why: 'writes a prompt out, generates nothing',
    providers: ['llamacpp'],
  },
  { patterns: ['POST /ping', 'POST /health'], why: 'tells whether the server is up', providers: ['vllm'] },
]

/** Requests whose work the provider bills without figures in the answer: unread, so unpriced, never 0. */
export const BILLED_APART: readonly EndpointGroup[] = [
  {
    patterns: [
      'POST **/v1/containers/*/files',
      'POST **/v1/vector_stores',
      'POST **/v1/vector_stores/*',
      'POST **/v1/vector_stores/*/files',
      'POST **/v1/vector_stores/*/files/*',
      'POST **/v1/vector_stores/*/file_batches',
      'POST **/v1/threads/*',
      'POST **/v1/videos/**',
      'POST **/v1/fine_tuning/alpha/graders/run',

      'POST **/v1/threads/*/runs',
      'POST **/v1/threads/*/runs/*/submit_tool_outputs',
      'POST **/v1/audio/voices',
      'POST **/v1/audio/voice_consents',
      'POST **/v1/audio/voice_consents/*',
      'POST **/v1/content_provenance_checks',
      'POST **/v1/decisions',
      'POST **/v1/agents',
      'POST **/v1/agents/**',
    ],
    why: 'billed by storage, second, search or later, and the answer has no figures',
    providers: ['openai'],
  },
  {
    patterns: [
      'POST **/v1/deployments',
      'POST **/v1/deployments/**',
      'POST **/v1/dreams',
      'POST **/v1/dreams/**',
      'POST **/v1/environments',
      'POST **/v1/environments/**',
      'POST **/v1/sessions',
      'POST **/v1/sessions/**',
    ],
    why: 'agents that run at the provider are billed by its own clock',
    providers: ['anthropic'],
  },
  {
    patterns: [
      '* **/cachedContents/*',
      '* **/corpora',
      '* **/corpora/**',
      '* **/corpora/*:query',
      '* **/fileSearchStores/**',
      '* **/tunedModels',
      '* **/tunedModels/*',
      'POST **:batchEmbedText',
      'POST **:embedText',
      'POST **:generateAnswer',
      'POST **:generateMessage',
      'POST **:generateText',
      'POST **:asyncBatchEmbedContent',
      '* **/agents',
      '* **/decisions',
      '* **/environments',
      '* **/environments/**',
      '* **/triggers',
      '* **/triggers/**',
      '* **/voices',
    ],
    why: 'billed by storage, search, training or run, or read by the generic reader alone',
    providers: ['gemini'],
  },
]

type Finder = (method: string, path: string) => EndpointGroup | null

/** Finds the first group of `groups` that holds for `provider` and matches. Compile once, ask for every call. */
export function groupFinder(groups: readonly EndpointGroup[], provider: Provider): Finder {
  const byPattern = new Map<string, EndpointGroup>()
  for (const group of groups) {
    if (group.providers?.includes(provider) === false) continue
    for (const pattern of group.patterns) if (!byPattern.has(pattern)) byPattern.set(pattern, group)
  }
  const match = compilePathPatterns([...byPattern.keys()])
  return (method, path) => {
    const pattern = match(method, path)
    return pattern === null ? null : (byPattern.get(pattern) ?? null)
  }
}

const finders = new Map<Provider, Finder>()

/**
 * Why a call on `path` (canonical, no slash at its end) is known to be free, or `null`: not known. `reportedBy` is
 * there when the call only begins work that is billed later. Requests without a body are not asked here.
 */
export function freeEndpoint(
  provider: Provider,
  method: string,
  path: string,
): { readonly reason: string; readonly reportedBy?: string } | null {
  let find = finders.get(provider)
  if (find === undefined) {
    find = groupFinder(FREE_ENDPOINTS, provider)
    finders.set(provider, find)
  }
  const group = find(method, path)
  if (group === null) return null
  return group.reportedBy === undefined
    ? { reason: group.why }
    : { reason: group.why, reportedBy: group.reportedBy }
}
