import type { CallRecord } from '../../call/call-record.ts'
import { periodOf } from '../../domain/period.ts'
import { picoToUsdNumber } from '../../domain/pico-usd.ts'
import { addDays, isDay, type UtcDay } from '../../domain/utc-day.ts'
import { COST_OF_ROW } from '../../limits/spent/cost-of-row.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type CallRow, columnsOf, fieldsFrom } from '../../usage/calls/call-columns.ts'
import { NO_ID } from '../../usage/calls/explain-cost.ts'
import { type AskingKey, type CompatAnswer, refuseOthers } from './asking-key.ts'
import { modelIdOf } from './model-answer.ts'

/** Rows of one answer; a program that wants all of them asks day by day. */
const MAX_ROWS = 1_000
/** Days of one answer. */
const MAX_DAYS = 366
/** Days where none are asked for. */
const DEFAULT_DAYS = 30
/** No further day is read after this. */
const READ_MS = 2_500

interface SpendQuery {
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  /** Totals of days, else single calls. */
  readonly isSummary: boolean
  /** The id of a call, here or of its answer; `null`: all calls. */
  readonly callId: string | null
}

/** What a key spent on a day, by the model that answered. */
interface DayRow {
  readonly day: UtcDay
  readonly model: string
  readonly pico: string
}

/**
 * The answer of `/spend/logs`, of calls by the asking key alone: with two dates the totals of each day, else single
 * calls, the newest first, as far as these are kept. The last day counts as a whole.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function answerSpendLogs(
  pool: Postgres,
  asking: AskingKey,
  query: URLSearchParams,
  nowMs: number,
): Promise<CompatAnswer> {
  const refused = refuseOthers(query, asking)
  if (refused !== null) return refused
  const asked = parseSpendQuery(query, nowMs)
  if ('kind' in asked) return asked
  const days = await selectDays(pool, asking, asked)
  if (asked.isSummary) return { kind: 'answer', document: summarise(days, asking, asked.toDay) }
  const { rows, isTruncated } = await readRows(pool, asking, asked, [...new Set(days.map(({ day }) => day))])
  const document = rows.map((row) => renderCall(row, asking))
  return isTruncated ? { kind: 'answer', document, isTruncated } : { kind: 'answer', document }
}

function parseSpendQuery(query: URLSearchParams, nowMs: number): SpendQuery | CompatAnswer {
  const [from, to, callId] = ['start_date', 'end_date', 'request_id'].map((name) => query.get(name))
  const days = periodOf(DEFAULT_DAYS, nowMs)
  for (const [param, day] of [
    ['start_date', from],
    ['end_date', to],
  ] as const)
    if (typeof day === 'string' && !isDay(day))
      return { kind: 'invalid', param, message: `${param} must be a day that exists, as YYYY-MM-DD.` }
  const hasBoth = typeof from === 'string' && typeof to === 'string'
  const { fromDay, toDay } = hasBoth ? { fromDay: from, toDay: to } : days
  if (addDays(fromDay, MAX_DAYS - 1) < toDay)
    return { kind: 'invalid', param: 'start_date', message: `Ask for at most ${MAX_DAYS} days.` }
  const isSummary = hasBoth && !/^(?:false|0|no|off)$/i.test(query.get('summarize') ?? '') && !callId
  return { fromDay, toDay, isSummary, callId: callId || null }
}

async function selectDays(
  pool: Postgres,
  { caller }: AskingKey,
  { fromDay, toDay }: SpendQuery,
): Promise<readonly DayRow[]> {
  const { rows } = await pool.query<DayRow>(
    `select u.day::text as day, u.model, sum(${COST_OF_ROW})::text as pico
     from ${SCHEMA}.daily_usage u
     where u.client_id = $1 and u.key_id = $2 and u.day between $3 and $4
     group by u.day, u.model order by u.day, u.model`,
    [caller.clientId, caller.keyId, fromDay, toDay],
  )
  return rows
}

function summarise(rows: readonly DayRow[], { caller, name }: AskingKey, toDay: UtcDay): object[] {
  const days = [...Map.groupBy(rows, ({ day }) => day)].map(([day, ofDay]) => {
    const spend = picoToUsdNumber(ofDay.reduce((sum, { pico }) => sum + BigInt(pico), 0n))
    const models = ofDay.map(({ model, pico }) => [model, picoToUsdNumber(BigInt(pico))] as const)
    return {
      [name]: spend,
      startTime: day,
      spend,
      users: { [caller.clientId]: spend },
      models: Object.fromEntries(models),
    }
  })
  const last = rows.at(-1)?.day
  if (last === undefined) return days
  // As LiteLLM does: nothing was spent on the days that follow.
  const after: object[] = []
  for (let day = addDays(last, 1); day <= toDay; day = addDays(day, 1))
    after.push({ startTime: day, spend: 0, users: {}, models: {} })
  return [...days, ...after]
}

const FIELDS = [
  'callId',
  'responseId',
  'arrivedAtMs',
  'provider',
  'requestedModel',
  'model',
  'path',
  'status',
  'outcome',
  'usage',
  'costPico',
  'latencyUs',
  'ttftUs',
  'failedInBody',
] as const

type KeyCall = Pick<CallRecord, (typeof FIELDS)[number]>

/** From the newest day on, until there are enough. */
async function readRows(
  pool: Postgres,
  { caller }: AskingKey,
  { callId }: SpendQuery,
  days: readonly UtcDay[],
): Promise<{ readonly rows: readonly KeyCall[]; readonly isTruncated?: true }> {
  if (callId !== null && NO_ID.test(callId)) return { rows: [] }
  const untilMs = performance.now() + READ_MS
  const rows: KeyCall[] = []
  for (const day of days.toReversed()) {
    if (rows.length >= MAX_ROWS || performance.now() > untilMs) return { rows, isTruncated: true }
    const found = await pool.query<CallRow>(
      `select ${columnsOf(FIELDS)} from ${SCHEMA}.calls
       where day = $1 and client_id = $2 and key_id = $3
         and ($4::text is null or response_id = $4 or call_id::text = $4)
       order by arrived_at desc, call_id desc limit $5`,
      [day, caller.clientId, caller.keyId, callId, MAX_ROWS - rows.length + 1],
    )
    rows.push(...found.rows.map((row) => fieldsFrom(row, FIELDS)))
  }
  return rows.length > MAX_ROWS ? { rows: rows.slice(0, MAX_ROWS), isTruncated: true } : { rows }
}

/** What LiteLLM calls a call, by the end of its path. */
const CALL_TYPES: readonly (readonly [end: string, type: string])[] = [
  ['/chat/completions', 'acompletion'],
  ['/completions', 'atext_completion'],
  ['/embeddings', 'aembedding'],
  ['/responses', 'aresponses'],
  ['/messages', 'anthropic_messages'],
  ['/images/generations', 'aimage_generation'],
  ['/audio/speech', 'aspeech'],
  ['/audio/transcriptions', 'atranscription'],
  ['/moderations', 'amoderation'],
  ['/rerank', 'arerank'],
]

/** A call as a row of `LiteLLM_SpendLogs`. What is not known of it is `null`, the cost of an unpriced call too. */
function renderCall(call: KeyCall, { caller, name }: AskingKey): object {
  const { usage, costPico, arrivedAtMs, latencyUs, ttftUs, requestedModel, status } = call
  const { inputTokens, outputTokens } = usage
  const at = (us: number | null) =>
    us === null ? null : new Date(arrivedAtMs + Math.round(us / 1_000)).toISOString()
  const isSuccess = call.outcome === 'complete' && !call.failedInBody && status !== null && status < 400
  return {
    request_id: call.responseId ?? call.callId,
    litellm_call_id: call.callId,
    call_type: CALL_TYPES.find(([end]) => call.path.endsWith(end))?.[1] ?? 'pass_through_endpoint',
    api_key: name,
    spend: costPico === null ? null : picoToUsdNumber(BigInt(costPico)),
    total_tokens: inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens,
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    startTime: at(0),
    endTime: at(latencyUs),
    completionStartTime: at(ttftUs),
    request_duration_ms: latencyUs === null ? null : Math.round(latencyUs / 1_000),
    model: call.model,
    model_id: requestedModel === null ? '' : modelIdOf(requestedModel),
    model_group: requestedModel ?? '',
    custom_llm_provider: call.provider,
    api_base: '',
    user: caller.clientId,
    metadata: {},
    cache_hit: '',
    cache_key: '',
    request_tags: [],
    team_id: null,
    end_user: null,
    messages: {},
    response: {},
    session_id: null,
    status: isSuccess ? 'success' : 'failure',
  }
}
