import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { BudgetPeriod, Limit, LimitKind } from '../limit.ts'
import { addLimitChanges } from './limit-changes.ts'
import { LIMIT_COLUMNS, type LimitRow, limitFrom, takeLimitVersion } from './limit-rows.ts'

/** Which limits are meant; what is left out may be anything. */
export interface LimitFilter {
  readonly ids?: readonly string[] | undefined
  /** `null`: the defaults. */
  readonly clientId?: string | null | undefined
  readonly keyId?: string | undefined
  readonly model?: string | undefined
  /** Of these sorts; left out: of all. */
  readonly sorts?: readonly FilteredSort[] | undefined
}

export interface FilteredSort {
  readonly kind: LimitKind
  readonly per?: BudgetPeriod | undefined
  readonly isSoft?: boolean | undefined
}

/** Removes all limits that are meant. @returns Those removed, as they were; empty: there was none. */
export async function removeLimits(
  pool: Postgres,
  filter: LimitFilter,
  who: string,
): Promise<readonly Limit[]> {
  const { ids, clientId, keyId, model, sorts } = filter
  return await inTransaction(pool, async (session) => {
    const version = await takeLimitVersion(session)
    const { rows } = await session.query<LimitRow>(
      `update ${SCHEMA}.limits l set removed_at = now(), changed_at = now(), version = $1
       where removed_at is null
         and ($2::bigint[] is null or id = any($2))
         and ($3::boolean or client_id is not distinct from $4)
         and ($5::text is null or key_id = $5 or $5 = any(former_keys)) and ($6::text is null or model = $6)
         and ($7::text[] is null or exists (
           select from unnest($7::text[], $8::text[], $9::boolean[]) s (kind, per, soft)
           where s.kind = l.kind and coalesce(s.per = l.per, true) and coalesce(s.soft = l.soft, true)))
       returning ${LIMIT_COLUMNS}`,
      [
        version,
        ids ?? null,
        clientId === undefined,
        clientId ?? null,
        keyId ?? null,
        model ?? null,
        sorts?.map(({ kind }) => kind) ?? null,
        sorts?.map(({ per }) => per ?? null) ?? null,
        sorts?.map(({ isSoft }) => isSoft ?? null) ?? null,
      ],
    )
    const removed = rows.map(limitFrom)
    await addLimitChanges(
      session,
      removed.map((before) => ({ who, action: 'remove', before, after: null })),
    )
    return removed
  })
}
