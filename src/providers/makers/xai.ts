import type { BilledUnit, BilledUnits } from '../../call/usage.ts'
import { madeAndListedAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { endpoint, fetching, postTo } from '../dialect.ts'
import { xaiBatchResults } from '../jobs/xai-batches.ts'
import { filmOf } from '../media/openai-videos.ts'
import { openAiTranscriptions, xaiSpeech } from '../media/sound.ts'
import { deferredChat } from '../openai/openai-chat.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { addReasoning } from '../openai/openai-usage.ts'
import { BEGINS_WORK } from '../paths/free-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { secondsAsMs, sumUnits, unitsByTool, unitsIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, textIn } from '../reading/json-value.ts'
import { costInTicks } from '../reading/reported-cost.ts'

// completion_tokens leaves reasoning out: total = prompt + completion + reasoning (recorded, 219 of 219).
const OVERRIDES: OpenAiOverrides = {
  takesIncludeUsage: true,
  defers: true,
  correct: addReasoning,
  readCost: costInTicks,
  readUnits: toolsOrSources,
  readToolUnits: serverSideTools,
}

const PREFILTER = ['error']

/**
 * xAI's videos: the answer has an id alone, and the fetch that finds the job done has its cost.
 * Source: docs.x.ai, "Video generation".
 */
const xaiVideos: Dialect = requestDialect({
  name: 'xai.videos',
  fields: { request_id: 'value', error: 'value' },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: () => ({ pending: true }),
  readAnswer: (job) => ({
    responseId: textIn(job.request_id),
    pending: true,
    failed: carriesError(job),
  }),
})

/** The fetch of such a job, by the id in its path. */
const xaiVideo: Dialect = requestDialect({
  name: 'xai.video',
  fields: {
    status: 'value',
    model: 'value',
    usage: 'usage',
    video: { duration: 'value' },
    error: 'value',
  },
  prefilter: PREFILTER,
  requestFields: {},
  readRequest: ({ request }) => ({ responseId: request.path.slice(request.path.lastIndexOf('/') + 1) }),
  readAnswer: (job, raw) => {
    const usage = member(job, 'usage')
    const isDone = job.status === 'done' || usage !== null
    return {
      ...(isDone ? filmOf(secondsAsMs(member(job, 'video')?.duration)) : {}),
      raw,
      model: textIn(job.model),
      pending: !isDone && job.status === 'pending',
      failed: carriesError(job) || job.status === 'failed',
      reportedCostPico: usage === null ? null : costInTicks(usage),
    }
  },
})

/** xAI itself. */
export const xai: HostedProvider = {
  hosts: ['api.x.ai', '*.api.x.ai'],
  credential: BEARER,
  catalog: madeAndListedAs('x-ai', ['x-ai', 'xai', 'grok']),
  apis: ['openai', 'anthropic'],
  isBelowV1: true,
  openAi: OVERRIDES,
  endpoints: [
    fetching('GET', /\/chat\/deferred-completion\/[^/]+$/, deferredChat(OVERRIDES)),
    fetching('GET', /(?<!\/messages)\/batches\/[^/]+\/results$/, xaiBatchResults(OVERRIDES)),
    endpoint('POST', /\/videos\/(?:generations|edits|extensions)$/, xaiVideos),
    fetching('GET', /\/videos\/[^/]+$/, xaiVideo),
    postTo('/tts', xaiSpeech),
    postTo('/stt', openAiTranscriptions(OVERRIDES, { name: 'xai.transcriptions', model: 'grok-stt' })),
  ],
  batchesInPages: true,
  freePaths: [
    {
      patterns: ['POST **/v1/batches', 'POST **/v1/batches/*/requests'],
      why: BEGINS_WORK,
      reportedBy: 'GET /v1/batches/{id}/results',
    },
  ],
  reportsCost: true,
  hidesReasoning: true,
  fetchedAt: [
    [/\/videos\/.*$/i, '/videos'],
    [/\/chat\/completions$/i, '/chat/deferred-completion'],
  ],
  collections: {
    'chat/deferred-completion': 'completion',
  },
}

/** xAI's counts of calls, by the unit that prices them. Attachments have a price of their own, and no unit. */
const XAI_CALLS: ReadonlyMap<string, BilledUnit | null> = new Map<string, BilledUnit | null>([
  ['web_search_calls', 'webSearches'],
  ['code_interpreter_calls', 'codeRuns'],
  ['code_execution_calls', 'codeRuns'],
  ['file_search_calls', 'fileSearches'],
  ['collections_search_calls', 'fileSearches'],
  ['mcp_calls', null],
  // Counted by what they fetched: see xSearchesIn.
  ['x_search_calls', null],
  ['x_posts_fetched', null],
  ['x_users_fetched', null],
])

/**
 * `server_side_tool_usage_details` of xAI. A search of X is billed by what it fetched, before 2026-09-21 by the call;
 * a profile costs twice what a post does and counts as two. Calls of other kinds count as others, and so do calls of
 * which only the number is reported. https://docs.x.ai/developers/pricing
 */
function serverSideTools(usage: JsonObject): Partial<BilledUnits> | null {
  const details = member(usage, 'server_side_tool_usage_details')
  const all = unitsIn(usage.num_server_side_tools_used)
  if (details === null) return all === null || all === 0 ? null : { otherToolCalls: all }
  const units = unitsByTool(details, XAI_CALLS)
  let reported = 0
  for (const [name, value] of Object.entries(details))
    if (name.endsWith('_calls')) reported += unitsIn(value) ?? 0
  const untold = all === null || all <= reported ? null : all - reported
  return {
    ...units,
    xSearches: xSearchesIn(details),
    otherToolCalls: sumUnits(units.otherToolCalls ?? null, untold),
  }
}

function xSearchesIn(details: JsonObject): number | null {
  const posts = unitsIn(details.x_posts_fetched)
  const users = unitsIn(details.x_users_fetched)
  if (posts === null && users === null) return unitsIn(details.x_search_calls)
  return (posts ?? 0) + 2 * (users ?? 0)
}

/** xAI's chat, where Live Search was billed by each source it used: docs.x.ai, "Live Search" (retired). */
function toolsOrSources(usage: JsonObject): Partial<BilledUnits> | null {
  return serverSideTools(usage) ?? { webSearches: unitsIn(usage.num_sources_used) }
}
