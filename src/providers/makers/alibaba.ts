import { listedElsewhereAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, endpoint, fetching } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatText } from '../openai/openai-text.ts'
import { promptOnlyUsage, responsesUsage } from '../openai/openai-usage.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { millisecondsIn, secondsAsMs, unitsIn } from '../reading/billed-units.ts'
import { carriesError, type UsageFormat } from '../reading/body-format.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { jsonDialect, requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import { ifCounted, type UsageUpdate } from '../reading/usage-update.ts'

const FORMAT = {
  fields: {
    usage: 'usage',
    error: 'value',
    output: {
      task_id: 'value',
      task_status: 'value',
      finish_reason: 'value',
      choices: [{ finish_reason: 'value' }],
    },
  },
  prefilter: ['usage', 'error'],
} as const satisfies UsageFormat
/** A task is canceled only before it runs. */
const USED_NOTHING: ReadonlySet<unknown> = new Set(['FAILED', 'CANCELED'])
const RUNNING: ReadonlySet<unknown> = new Set(['PENDING', 'RUNNING', 'SUSPENDED'])

/**
 * DashScope's own API (`/api/v1/services/...`): `usage` with `input_tokens` and `output_tokens` at the root of the body
 * or of each event, cumulative until a `finish_reason` other than the text `null`. Pictures, films, speech and
 * transcriptions are billed by what they are, and have no tokens, or zeros. With `X-DashScope-Async: enable` the answer has
 * the id of a task alone, and the result is fetched by that until it is there.
 * Source: Alibaba Cloud Model Studio, "DashScope API reference", "Asynchronous task management API".
 */
const alibabaGeneration: Dialect = jsonDialect({
  name: 'alibaba.generation',
  answers: ANSWER_COUNTS.alibaba,
  outputBound: 'settings',
  queues: true,
  ...FORMAT,
  read,
  textOf(json) {
    const output = member(objectIn(json), 'output')
    return textIn(output?.text) ?? chatText({ choices: arrayIn(output?.choices) })
  },
})

/** Embeddings at once or of a file, whose answers tell a total alone. */
const alibabaEmbeddings: Dialect = jsonDialect({
  name: 'alibaba.embeddings',
  generatesNothing: true,
  queues: true,
  ...FORMAT,
  read(document, raw) {
    const update = read(document, raw)
    const usage = member(document, 'usage')
    return usage === null ? update : { ...update, usage: ifCounted(promptOnlyUsage(usage)), units: null }
  },
})

/** The fetch of a task, by the id in its path. */
const alibabaTask: Dialect = requestDialect({
  name: 'alibaba.task',
  ...FORMAT,
  requestFields: {},
  hidesOrderedModel: true,
  readRequest: ({ request }) => ({
    responseId: request.path.slice(request.path.lastIndexOf('/') + 1),
    model: request.model,
  }),
  readAnswer: read,
})

function read(document: JsonObject, raw: string | null): UsageUpdate {
  const usage = member(document, 'usage')
  const output = member(document, 'output')
  const task = {
    responseId: textIn(output?.task_id),
    pending: usage === null && RUNNING.has(output?.task_status),
    failed: carriesError(document) || USED_NOTHING.has(output?.task_status),
  }
  if (usage === null) return task
  const saysParts = usage.input_tokens !== undefined || usage.output_tokens !== undefined
  const counted = saysParts ? responsesUsage(usage) : promptOnlyUsage(usage)
  const reasons = [output, ...objectsIn(output?.choices)].map((choice) => textIn(choice?.finish_reason))
  return {
    ...task,
    usage: ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
    ...billedByLength(usage),
    raw,
    isFinal: output?.task_id !== undefined || reasons.some((reason) => reason !== null && reason !== 'null'),
  }
}

/** The use that is not of tokens. Seconds are a film's where its resolution or number is said beside them. */
function billedByLength(usage: JsonObject): Pick<UsageUpdate, 'units' | 'serviceTier'> {
  const images = unitsIn(usage.image_count) || null
  const isFilm =
    images === null && ['SR', 'video_count', 'output_video_duration'].some((name) => name in usage)
  const seconds = images === null ? secondsAsMs(usage.duration) || null : null
  const size = isFilm ? /^\d{3,4}$/.exec(String(usage.SR)) : null
  return {
    units: {
      images,
      characters: unitsIn(usage.characters) || null,
      videoMs: secondsAsMs(usage.video_duration) || (isFilm ? seconds : null),
      audioMs: millisecondsIn(usage.seconds) || (isFilm ? null : seconds),
    },
    serviceTier: size === null ? null : `${size[0]}p`,
  }
}

/** Alibaba Cloud's Model Studio. */
export const alibaba: HostedProvider = {
  hosts: ['dashscope.aliyuncs.com', 'dashscope-*.aliyuncs.com', '*.maas.aliyuncs.com'],
  credential: BEARER,
  catalog: listedElsewhereAs('alibaba'),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_IF_ASKED,
  endpoints: [
    endpoint('POST', /\/services\/(?:aigc\/.|audio\/asr\/transcription$)/, alibabaGeneration),
    endpoint('POST', /\/services\/embeddings\/./, alibabaEmbeddings),
    fetching('GET', /\/tasks\/[^/]+$/, alibabaTask),
  ],
  freePaths: [{ patterns: ['POST **/tasks/*/cancel'], why: 'ends work and begins none' }],
  fetchedAt: [[/\/services\/.*$/i, '/tasks']],
  collections: {
    // Others have tasks, too, which are none of these.
    'api/v1/tasks': 'async_completion',
    // Where the upstream's address ends in `/api` or `/api/v1`.
    '/v1/tasks': 'async_completion',
  },
}
