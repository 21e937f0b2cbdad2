import type { PostgresSession } from '../connection/postgres.ts'
import { SCHEMA } from '../connection/schema.ts'

/** Names a response whose usage is counted once. */
export interface ResponseName {
  readonly upstream: string
  readonly responseId: string
}

/**
 * Claims responses, so that the usage of each is counted once, whichever call reports it, on any stream.
 *
 * @param responses Each once, sorted.
 * @returns Those that were not claimed before.
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

/** A response that is still reported must not be pruned: it would count again. Once a day is enough. */
async function keepResponses(session: PostgresSession, responses: readonly ResponseName[]): Promise<void> {
  await session.query(
    `update ${SCHEMA}.responses_seen set seen_at = now()
     where seen_at < now() - interval '1 day'
       and (upstream, response_id) in (select * from unnest($1::text[], $2::text[]))`,
    [responses.map(({ upstream }) => upstream), responses.map(({ responseId }) => responseId)],
  )
}

/** Those of `responses` that were claimed before. */
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
