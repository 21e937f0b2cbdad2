import { reportedNoFigures, WITHOUT_FIGURES } from '../call/unpriced-reason.ts'
import { UNKNOWN_MODEL } from '../domain/model-name.ts'
import type { Period } from '../domain/period.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { KEY, KEY_OF_CALL } from './daily-key.ts'
import {
  buildSummaryStatement,
  type SummaryRow,
  selectSummed,
  selectSums,
} from './summaries/read-summaries.ts'
import { areSummarised, coverPeriod } from './summaries/summarised.ts'
import { SUMMARY_COLUMNS } from './summaries/summary-tables.ts'
import { unpricedRowsAmong, writtenUnpricedRows } from './summaries/unpriced-rows.ts'

/** Calls without a cost: of one model at one upstream, at one path, for one reason. */
export interface UnpricedUse {
  readonly model: string
  readonly provider: string
  readonly upstream: string
  /** As the upstream named it; `null`: it named none, or as in the next three. */
  readonly serviceTier: string | null
  /** `null` here and in the next two: the single calls are not kept. */
  readonly method: string | null
  /** Ids in it are `{id}`. */
  readonly path: string | null
  /** One of `UNPRICED_REASONS`; `null` too where an older release metered the calls. */
  readonly reason: string | null
  readonly calls: bigint
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  readonly firstDay: UtcDay
  readonly lastDay: UtcDay
  /** What the requests named, where `model` is `(unknown)` and the single calls are kept; else `null`. */
  readonly requestedModel: string | null
}

/**
 * A segment of a path that is an id: a UUID, or a word of 16 characters or more with a digit, its kind before
 * it.
 */
const ID_SEGMENT = `/(?:[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|(?:[A-Za-z]+[_-])?(?=[^/]*[0-9])[A-Za-z0-9]{16,})(?=/|$)`

/** Reasons that a later price cannot be for; the others are what `priced_later` has been taken from. */
const NO_PRICE_HELPS = [...WITHOUT_FIGURES, 'invalid_usage']

const SHOWN =
  'model, provider, upstream, service_tier, method, path, reason, requested_model, input_tokens, output_tokens, calls, day'

/**
 * 1. The rows of totals with calls that have no cost: of days that are summed up as they were written down then.
 * 2. Their calls, where they are kept, by path and reason. What was to be billed with a later fetch, and was
 *    fetched, is no longer missing. Most calls share few paths, and each is looked at once.
 * 3. Those that a repricing has priced since are taken off, first come first off, as which they were is not
 *    known.
 * 4. What no call explains stays, without path and reason.
 * 5. So do the calls of days before those, by their sums where they are summed up.
 */
const SELECT = `
with totals as (
  ${unpricedRowsAmong('u.day = any($1::date[]) or u.day > $7::date')}
  union all
  ${writtenUnpricedRows('day = any($6::date[])')}),
kept as (
  select ${KEY_OF_CALL}, service_tier, method, path, input_tokens, output_tokens,
    case when model = $5 then requested_model end as requested_model,
    case
      when unpriced_reason = 'billed_later' and exists (
        select from ${SCHEMA}.responses_seen s where s.upstream = c.upstream and s.response_id = c.response_id)
      then 'billed_since'
      when unpriced_reason is null and usage_source = 'invalid' then 'invalid_usage'
      else unpriced_reason
    end as reason
  from ${SCHEMA}.calls c where day >= $4 and cost_pico is null and not settled),
paths as materialized (
  select path, regexp_replace(path, $2, '/{id}', 'g') as shown from (select distinct path from kept) p),
grouped as (
  select ${KEY}, service_tier, method, shown as path, reason, requested_model, coalesce(reason = any($3), reason = 'billed_since', false) as is_final,
    count(*) as calls, coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens
  from kept join paths using (path) group by ${KEY}, service_tier, method, shown, reason, requested_model),
explained as (
  select ${KEY}, t.provider, g.service_tier, g.method, g.path, g.reason, g.requested_model, g.input_tokens, g.output_tokens,
    case when g.is_final then g.calls else least(g.calls, greatest(0,
      sum(g.calls) over (partition by ${KEY}, g.is_final order by g.method, g.path, g.reason, g.service_tier, g.requested_model
        rows unbounded preceding) - coalesce(t.priced_later, 0))) end as calls
  from totals t join grouped g using (${KEY})),
rest as (
  select ${KEY}, t.provider, null as service_tier, null as method, null as path, null as reason, null as requested_model,
    greatest(0, t.input_tokens - coalesce(e.input_tokens, 0)) as input_tokens,
    greatest(0, t.output_tokens - coalesce(e.output_tokens, 0)) as output_tokens,
    t.unpriced_left - coalesce(e.calls, 0) as calls
  from totals t left join (
    select ${KEY}, sum(calls) as calls, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens
    from explained group by ${KEY}) e using (${KEY})),
before as (
  select model, provider, upstream, null as service_tier, null as method, null as path, null as reason,
    null as requested_model, unpriced_input_tokens as input_tokens, unpriced_output_tokens as output_tokens,
    unpriced_left as calls, day
  from ${SCHEMA}.usage_days_by_model where day = any($8::date[]) and unpriced_left > 0),
answer as (
select model, provider, upstream, service_tier, method, path, reason, requested_model, sum(calls) as calls, sum(input_tokens) as input_tokens,
  sum(output_tokens) as output_tokens, min(day) as first_day, max(day) as last_day
from (
  select ${SHOWN} from explained union all select ${SHOWN} from rest union all select ${SHOWN} from before) u
where calls > 0 and reason is distinct from 'billed_since'
group by model, provider, upstream, service_tier, method, path, reason, requested_model
order by calls desc, model, upstream, path, reason, service_tier, requested_model limit 1000)
select k.whole::text as "isWhole", a.model as "isRow", a.*
from (select ${areSummarised(`'{}'`, '$9')} as whole) k left join answer a on true
order by calls desc, model, upstream, path, reason, service_tier, requested_model`

/**
 * At most so many single calls are read, those of the newest days: an open page asks every minute, a call
 * costs a page, and a deployment without prices at all has millions. The command line reads more.
 */
const MOST_CALLS = 5_000n
/** The same of alerts, which tell reasons apart and are looked for more seldom. */
export const MOST_CALLS_OF_ALERTS = 20_000n

const BY_DAY = buildSummaryStatement({
  by: ['day'],
  ofClient: false,
  columns: SUMMARY_COLUMNS.filter(({ field }) => field === 'unpriced'),
  selected: ['u.day'],
  orderBy: 'u.day desc',
  isOpenEnded: true,
})

/** The first day whose calls are looked at, counted back from the newest; `null`: none is. */
async function findFirstDay(pool: Postgres, period: Period, mostCalls: bigint): Promise<UtcDay | null> {
  let first: UtcDay | null = null
  let calls = 0n
  for (const { day = null, unpriced } of await selectSums(pool, BY_DAY, period, null)) {
    calls += BigInt(unpriced ?? '0')
    if (calls <= mostCalls) first = day
  }
  return first
}

const NO_DAY = '9999-12-31'

/**
 * What has no cost, nor was given one since, from `fromDay` on; those with most calls first, at most 1,000.
 *
 * @param mostCalls Of the newest days, as many as have no more of such calls are read call by call.
 */
export async function selectUnpricedUse(
  pool: Postgres,
  fromDay: UtcDay,
  mostCalls = MOST_CALLS,
): Promise<UnpricedUse[]> {
  const period = { fromDay, toDay: utcDayOf(Date.now()) }
  const firstDay = (await findFirstDay(pool, period, mostCalls)) ?? NO_DAY
  const rows = await selectSummed(pool, period, ({ days: known }) => {
    const { days, rest } = coverPeriod(period, { days: known, months: new Set() })
    const newest = days.filter((day) => day >= firstDay)
    const before = days.filter((day) => day < firstDay)
    const values = [
      rest,
      ID_SEGMENT,
      NO_PRICE_HELPS,
      firstDay,
      UNKNOWN_MODEL,
      newest,
      period.toDay,
      before,
      days,
    ]
    return { text: SELECT, values }
  })
  return rows.map(unpricedUseFrom)
}

function unpricedUseFrom(row: SummaryRow): UnpricedUse {
  return {
    model: row.model ?? '',
    provider: row.provider ?? '',
    upstream: row.upstream ?? '',
    serviceTier: row.service_tier ?? null,
    method: row.method ?? null,
    path: row.path ?? null,
    reason: row.reason ?? null,
    calls: BigInt(row.calls ?? '0'),
    inputTokens: BigInt(row.input_tokens ?? '0'),
    outputTokens: BigInt(row.output_tokens ?? '0'),
    firstDay: row.first_day ?? '',
    lastDay: row.last_day ?? '',
    requestedModel: row.requested_model ?? null,
  }
}

/**
 * Calls without a cost, and whether the same calls would have a price now; `null`: gateways price
 * differently.
 */
export interface CheckedUse extends UnpricedUse {
  readonly hasPriceNow: boolean | null
}

/** Whether calls with this model would have a price now. */
export type HasPrice = (
  provider: string,
  upstream: string,
  model: string,
  serviceTier: string | null,
) => boolean

/** @param hasPrice `null`: gateways price differently, so it is not known. */
export function checkPrices(uses: readonly UnpricedUse[], hasPrice: HasPrice | null): readonly CheckedUse[] {
  return uses.map((use) => {
    if (hasPrice === null) return { ...use, hasPriceNow: null }
    const { reason, provider, upstream, model, requestedModel, serviceTier } = use
    const hasPriceNow =
      couldBePriced(reason) && hasPrice(provider, upstream, requestedModel ?? model, serviceTier)
    return { ...use, hasPriceNow }
  })
}

/**
 * Whether a price that the model has now would be one for these calls: not where they reported nothing to
 * price.
 */
export function couldBePriced(reason: string | null): boolean {
  return !reportedNoFigures(reason) && reason !== 'invalid_usage' && reason !== 'contradictory_usage'
}

/** What people call its model: for an unknown model the name in the requests. */
export function nameUnpriced({
  model,
  requestedModel,
}: Pick<UnpricedUse, 'model' | 'requestedModel'>): string {
  return requestedModel === null ? model : `${requestedModel} ${model}`
}

/** It as JSON, the same on the command line and over HTTP. */
export function renderUnpriced(use: CheckedUse) {
  return {
    model: use.model,
    provider: use.provider,
    upstream: use.upstream,
    service_tier: use.serviceTier,
    method: use.method,
    path: use.path,
    reason: use.reason,
    calls: Number(use.calls),
    input_tokens: Number(use.inputTokens),
    output_tokens: Number(use.outputTokens),
    first_day: use.firstDay,
    last_day: use.lastDay,
    has_price_now: use.hasPriceNow,
    ...(use.requestedModel === null ? {} : { requested_model: use.requestedModel }),
  }
}
