import { hashKeyHash } from '../../domain/api-key.ts'
import { parseUsdText } from '../../domain/pico-usd.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { IS_USED } from '../../usage/metrics-table.ts'
import { quoted } from '../keys/read-tables.ts'
import type { Line } from './compare-lines.ts'

/** UTC days, both inclusive. */
export interface ComparedDays {
  readonly fromDay: string
  readonly toDay: string
}

interface SpendRow {
  readonly day: string
  readonly key: string
  readonly model: string
  readonly calls: string
  readonly input: string
  readonly output: string
  /** US dollars with 12 places; `null`: not a number. */
  readonly cost: string | null
}

/** Floats as decimal text, which a bigint takes; `NaN` and the like are none. */
const COST = `case when sum(spend) between -1e15 and 1e15 then round(sum(spend)::numeric, 12)::text end as cost`

/** What LiteLLM says of its calls: its log of calls, or its totals by day where that log is switched off. */
export async function readSpend(
  pool: Postgres,
  schema: string,
  { fromDay, toDay }: ComparedDays,
): Promise<readonly Line[]> {
  const ofCalls = await pool.query<SpendRow>(
    `select to_char("startTime", 'YYYY-MM-DD') as day, api_key as key, model, count(*) as calls,
       sum(prompt_tokens::bigint) as input, sum(completion_tokens::bigint) as output, ${COST}
     from ${quoted(schema)}."LiteLLM_SpendLogs"
     where "startTime" >= $1::date and "startTime" < $2::date + 1 and coalesce(status, '') <> 'failure'
     group by 1, 2, 3`,
    [fromDay, toDay],
  )
  const { rows } =
    ofCalls.rows.length > 0
      ? ofCalls
      : await pool.query<SpendRow>(
          `select date as day, api_key as key, coalesce(model, '') as model, sum(successful_requests) as calls,
             sum(prompt_tokens) as input, sum(completion_tokens) as output, ${COST}
           from ${quoted(schema)}."LiteLLM_DailyUserSpend" where date between $1 and $2 group by 1, 2, 3`,
          [fromDay, toDay],
        )
  return rows.map(({ day, key, model, calls, input, output, cost }) => ({
    day,
    key,
    model,
    calls: BigInt(calls),
    inputTokens: BigInt(input),
    outputTokens: BigInt(output),
    costPico: parseUsdText(cost ?? '0'),
  }))
}

/** What was counted here, by key, model and day. A key that was rotated has another id, and the same label. */
export async function selectOwnSpend(
  pool: Postgres,
  { fromDay, toDay }: ComparedDays,
): Promise<readonly Line[]> {
  const { rows } = await pool.query<SpendRow & { readonly cost: string }>(
    `select day, key_id as key, model, sum(requests) as calls, sum(input_tokens) as input,
       sum(output_tokens) as output, sum(cost_pico + adjusted_pico) as cost
     from ${SCHEMA}.daily_usage u
     where day between $1 and $2 and ${IS_USED} group by 1, 2, 3`,
    [fromDay, toDay],
  )
  return rows.map(({ day, key, model, calls, input, output, cost }) => ({
    day,
    key,
    model,
    calls: BigInt(calls),
    inputTokens: BigInt(input),
    outputTokens: BigInt(output),
    costPico: BigInt(cost),
  }))
}

/** What a key is here. */
export interface KnownKey {
  readonly id: string
  /** `client / label`. */
  readonly label: string
}

/** The imported keys by the hash that LiteLLM names them by, and labels of all by id. */
export async function selectComparedKeys(
  pool: Postgres,
  hashes: Iterable<string>,
  peppers: readonly string[],
): Promise<{ readonly byHash: ReadonlyMap<string, KnownKey>; readonly labels: ReadonlyMap<string, string> }> {
  const hashOf = new Map(
    [...new Set(hashes)].flatMap((hash) =>
      peppers.map((pepper) => [hashKeyHash(hash, pepper).toString('hex'), hash] as const),
    ),
  )
  const { rows } = await pool.query<KnownKey & { readonly digest: string }>(
    `select k.id, c.name || ' / ' || k.name as label, encode(k.digest, 'hex') as digest
     from ${SCHEMA}.keys k join ${SCHEMA}.clients c on c.id = k.client_id`,
  )
  return {
    byHash: new Map(
      rows.flatMap(({ digest, id, label }) => {
        const hash = hashOf.get(digest)
        return hash === undefined ? [] : [[hash, { id, label }]]
      }),
    ),
    labels: new Map(rows.map(({ id, label }) => [id, label])),
  }
}
