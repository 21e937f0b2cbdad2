import type { UtcDay } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** Gives each producer a row, which `lockOffsets` can lock: `for update` on a row that is not there locks nothing. */
export async function addProducers(
  session: PostgresSession,
  stream: string,
  sortedProducers: readonly string[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.producers (id, stream) select id, $2 from unnest($1::text[]) id on conflict do nothing`,
    [sortedProducers, stream],
  )
}

/** Locks the producers' rows, in the order of their ids, and reads their marks. */
export async function lockOffsets(
  session: PostgresSession,
  sortedProducers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await session.query<{ id: string; mark: string }>(
    `select id, mark from ${SCHEMA}.producers where id = any($1) order by id for update`,
    [sortedProducers],
  )
  return new Map(rows.map(({ id, mark: committedOffset }) => [id, Number(committedOffset)]))
}

export interface OffsetMove {
  readonly producer: string
  readonly from: number
  readonly to: number
}

/**
 * Moves marks that are still where they were read.
 *
 * @throws When one is not: the transaction must not commit.
 */
export async function moveOffsets(session: PostgresSession, moves: readonly OffsetMove[]): Promise<void> {
  const { rowCount } = await session.query(
    `update ${SCHEMA}.producers p set mark = m.new, moved_at = now()
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as m (id, old, new)
     where p.id = m.id and p.mark = m.old`,
    [moves.map(({ producer }) => producer), moves.map(({ from }) => from), moves.map(({ to }) => to)],
  )
  if (rowCount !== moves.length) throw new Error('a mark was moved by another in spite of its lock')
}

export interface GapRow {
  readonly producer: string
  readonly from: number
  readonly to: number
  readonly reason: string
  /** `null`: now. */
  readonly recordedAt: Date | null
  /** The range's records came after all, now. */
  readonly filled: boolean
}

/** The unfilled holes of these producers, by producer, in order. Their rows are locked by their producers' rows. */
export async function selectGaps(
  session: PostgresSession,
  producers: readonly string[],
): Promise<ReadonlyMap<string, (GapRow & { readonly id: string })[]>> {
  const { rows } = await session.query<{
    id: string
    producer: string
    from_seq: string
    to_seq: string
    reason: string
    recorded_at: Date
  }>(
    `select id, producer, from_seq, to_seq, reason, recorded_at from ${SCHEMA}.ledger_gaps
     where producer = any($1) and filled_at is null order by producer, from_seq`,
    [producers],
  )
  const gaps = new Map<string, (GapRow & { readonly id: string })[]>()
  for (const row of rows) {
    const ofProducer = gaps.get(row.producer) ?? []
    gaps.set(row.producer, ofProducer)
    ofProducer.push({
      id: row.id,
      producer: row.producer,
      from: Number(row.from_seq),
      to: Number(row.to_seq),
      reason: row.reason,
      recordedAt: row.recorded_at,
      filled: false,
    })
  }
  return gaps
}

/** Puts `rows` in the place of the rows `replaced`. */
export async function replaceGaps(
  session: PostgresSession,
  replaced: readonly string[],
  rows: readonly GapRow[],
): Promise<void> {
  if (replaced.length > 0) {
    await session.query(`delete from ${SCHEMA}.ledger_gaps where id = any($1)`, [replaced])
  }
  await session.query(
    `insert into ${SCHEMA}.ledger_gaps (producer, from_seq, to_seq, reason, recorded_at, filled_at)
     select producer, "from", "to", reason, coalesce("recordedAt", now()), case when filled then now() end
     from json_to_recordset($1) as g (producer text, "from" bigint, "to" bigint, reason text,
       "recordedAt" timestamptz, filled boolean)`,
    [JSON.stringify(rows)],
  )
}

export interface DeadLetter {
  readonly producer: string
  readonly sequence: number
  readonly body: string
  /** `null`: not refused by Postgres, but not a record at all. */
  readonly sqlState: string | null
  readonly message: string
}

/** Keeps what cannot be counted, as it came; only what no text column can hold is replaced. */
export async function addDeadLetters(
  session: PostgresSession,
  stream: string,
  letters: readonly DeadLetter[],
): Promise<void> {
  const storable = letters.map((letter) => ({ ...letter, body: storableText(letter.body) }))
  await session.query(
    `insert into ${SCHEMA}.dead_letters (producer, sequence, stream, body, sqlstate, message)
     select producer, sequence, $2, body, "sqlState", message
     from json_to_recordset($1) as d (producer text, sequence bigint, body text, "sqlState" text, message text)
     on conflict do nothing`,
    [JSON.stringify(storable), stream],
  )
}

function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

export interface ClientDay {
  readonly clientId: string
  readonly day: UtcDay
}

/** The models that these clients have in the totals of these days. */
export async function selectModels(
  session: PostgresSession,
  clientDays: readonly ClientDay[],
): Promise<(ClientDay & { readonly model: string })[]> {
  const { rows } = await session.query<{ client_id: string; day: UtcDay; model: string }>(
    `select distinct u.client_id, u.day, u.model
     from unnest($1::text[], $2::date[]) as p (client_id, day)
     join ${SCHEMA}.daily_usage u on u.client_id = p.client_id and u.day = p.day`,
    [clientDays.map(({ clientId }) => clientId), clientDays.map(({ day }) => day)],
  )
  return rows.map((row) => ({ clientId: row.client_id, day: row.day, model: row.model }))
}

export interface ResponseName {
  readonly upstream: string
  readonly responseId: string
}

/**
 * Claims responses, so that the usage of each is counted once whoever reports it, in whatever stream.
 *
 * @param responses Each once, sorted.
 * @returns Those that nobody had claimed.
 */
export async function claimResponses(
  session: PostgresSession,
  responses: readonly ResponseName[],
): Promise<ResponseName[]> {
  const { rows } = await session.query<{ upstream: string; response_id: string }>(
    `insert into ${SCHEMA}.responses_seen (upstream, response_id)
     select * from unnest($1::text[], $2::text[]) on conflict do nothing returning upstream, response_id`,
    [responses.map(({ upstream }) => upstream), responses.map(({ responseId }) => responseId)],
  )
  if (rows.length < responses.length) await keepResponses(session, responses)
  return rows.map((row) => ({ upstream: row.upstream, responseId: row.response_id }))
}

/** What is told still must not be forgotten: it would count again. Once a day is enough. */
async function keepResponses(session: PostgresSession, responses: readonly ResponseName[]): Promise<void> {
  await session.query(
    `update ${SCHEMA}.responses_seen set seen_at = now()
     where seen_at < now() - interval '1 day'
       and (upstream, response_id) in (select * from unnest($1::text[], $2::text[]))`,
    [responses.map(({ upstream }) => upstream), responses.map(({ responseId }) => responseId)],
  )
}

/** Those of `responses` that somebody has claimed. */
export async function selectResponses(
  session: PostgresSession,
  responses: readonly ResponseName[],
): Promise<ResponseName[]> {
  if (responses.length === 0) return []
  const { rows } = await session.query<{ upstream: string; response_id: string }>(
    `select upstream, response_id from ${SCHEMA}.responses_seen
     where (upstream, response_id) in (select * from unnest($1::text[], $2::text[]))`,
    [responses.map(({ upstream }) => upstream), responses.map(({ responseId }) => responseId)],
  )
  return rows.map((row) => ({ upstream: row.upstream, responseId: row.response_id }))
}

/** Keeps the definitions of prices, by id; the first one of an id stays. */
export async function addPrices(
  session: PostgresSession,
  prices: readonly { readonly priceId: string; readonly definition: string }[],
): Promise<void> {
  await session.query(
    `insert into ${SCHEMA}.prices (price_id, definition)
     select id, definition::jsonb from unnest($1::text[], $2::text[]) as p (id, definition)
     on conflict do nothing`,
    [prices.map(({ priceId }) => priceId), prices.map(({ definition }) => definition)],
  )
}
