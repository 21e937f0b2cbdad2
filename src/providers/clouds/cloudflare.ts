import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, endpoint } from '../dialect.ts'
import { type OpenAiOverrides, USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { chatUsage } from '../openai/openai-usage.ts'
import { BEHIND_GATEWAYS } from '../own-servers/any-server.ts'
import { GOOGLE_FREE } from '../paths/free-paths.ts'
import { BEARER, type HostedProvider, type PathGroup } from '../provider.ts'
import { carriesError } from '../reading/body-format.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { jsonDialect, requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'

const MODEL = /\/(?:ai\/run|workers-ai)\/(.+)$/i

const FORMAT = {
  fields: {
    usage: 'usage',
    error: 'value',
    result: { usage: 'usage', status: 'value', request_id: 'value', model: 'value' },
  },
  prefilter: ['usage', 'error'],
} as const
const RUNNING: ReadonlySet<unknown> = new Set(['queued', 'running'])

/**
 * Workers AI's own endpoint, `/ai/run/{model}`, and `/workers-ai/{model}` behind its gateway. The answer stands under
 * `result` with `usage` as in chat; a stream's events have `response` and, the last ones, `usage` at their root. With
 * `queueRequest` the requests go into a queue: the answer has an id, and the results are asked for by that, at the same
 * path.
 * Source: developers.cloudflare.com/workers-ai, "REST API", "Asynchronous Batch API" and the models' output schemas.
 */
function cloudflareRun(overrides: OpenAiOverrides): Dialect {
  const readUsage = (usage: JsonObject) => {
    const counted = chatUsage(usage, overrides, null)
    return { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }
  }
  const read = (document: JsonObject) => {
    const result = member(document, 'result')
    const usage = member(result, 'usage') ?? member(document, 'usage')
    return {
      usage: usage === null ? null : readUsage(usage),
      pending: usage === null && RUNNING.has(result?.status),
      failed: carriesError(document),
    }
  }
  const modelInPath = (path: string) => MODEL.exec(path)?.[1] ?? null
  return jsonDialect({
    name: 'cloudflare.run',
    answers: ANSWER_COUNTS.cloudflareRun,
    // Some models that edit pictures.
    takesForm: true,
    ...FORMAT,
    read: (document) => {
      const found = read(document)
      return found.pending ? { ...found, responseId: textIn(member(document, 'result')?.request_id) } : found
    },
    modelInPath,
    polls: {
      body: /^\s*\{\s*"request_id"\s*:\s*"[\w-]{1,128}"\s*\}\s*$/,
      query: '?queueRequest=true',
      bodyOf: (request_id) => JSON.stringify({ request_id }),
      dialect: {
        ...requestDialect({
          name: 'cloudflare.queue',
          ...FORMAT,
          requestFields: { request_id: 'value' },
          readRequest: ({ fields }) => ({ responseId: textIn(fields.request_id) }),
          readAnswer: read,
          modelInPath,
        }),
        responseUse: 'fetched',
      },
    },
    textOf(json) {
      const document = objectIn(json)
      const answer = member(document, 'result') ?? document
      return textIn(answer?.response) ?? chatText(answer)
    },
  })
}

/**
 * The body names makers and their paths, also those that make credentials or are about objects. As HTTP and as
 * WebSocket. Makers' own paths may look the same below `/v1/{account}/{gateway}/{maker}`.
 * Source: developers.cloudflare.com/ai-gateway/usage/universal.
 */
const UNIVERSAL_REFUSED: PathGroup = {
  patterns: ['POST /v1/*/*'],
  why: 'with the path of the upstream’s address in front, the body may name any path of any maker',
}

/** Cloudflare's Workers AI, and its gateway to other makers with the operator's keys. */
export const cloudflare: HostedProvider = {
  hosts: ['gateway.ai.cloudflare.com', 'api.cloudflare.com'],
  credential: BEARER,
  catalog: {
    lists: ['cloudflare'],
    passesOn: true,
    places(model, findMaker) {
      const name = model.startsWith('workers-ai/') ? model.slice('workers-ai/'.length) : model
      // Its own models carry `@cf/`.
      if (name.startsWith('@cf/')) return [{ providerId: 'cloudflare', name }]
      const made = findMaker(name)
      return made === null ? [] : [made]
    },
  },
  apis: ['openai', 'anthropic', 'google', 'bedrock', 'ollama', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [
    // A model's name begins with `@`; OpenAI's formats stand below `workers-ai/v1`.
    endpoint('POST', /\/(?:ai\/run\/.|workers-ai\/@)/, cloudflareRun(USAGE_IF_ASKED)),
    ...BEHIND_GATEWAYS,
  ],
  freePaths: GOOGLE_FREE,
  refusedWholePaths: [UNIVERSAL_REFUSED],
}
