import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { coversModel } from '../covers-model.ts'
import { MODEL_OF_LIMIT } from './limit-rows.ts'

/** The models that budgets of a client's calls are for: its own ones, the defaults, and those of its groups. */
export interface ModelBudgets {
  /**
   * The longest of them that covers the model; `null`: none does. Of two that cover it, the longer one is covered by
   * the other, so a total under its name counts for both.
   */
  covering(clientId: string, model: string): string | null
}

/** Whose budgets hold for these clients' calls, of values of axes too. Of groups all that they were ever in: a call may be late. */
const SELECT = `
with recursive above as (
  select m.id as client_id, m.group_id from ${SCHEMA}.group_members m where m.id = any($1::text[])
  union
  select a.client_id, m.group_id from above a join ${SCHEMA}.group_members m on m.id = a.group_id)
select distinct coalesce(a.client_id, l.client_id) as client_id, ${MODEL_OF_LIMIT} as model
from ${SCHEMA}.limits l left join above a on a.group_id = l.group_id
where l.removed_at is null and l.kind = 'budget' and ${MODEL_OF_LIMIT} is not null
  and case when l.group_id is null then coalesce(l.client_id = any($1::text[]), true) else a.client_id is not null end`

/** Reads the models that budgets of these clients are for. */
export async function selectModelBudgets(
  session: PostgresSession,
  clientIds: readonly string[],
): Promise<ModelBudgets> {
  const { rows } = await session.query<{ client_id: string | null; model: string }>(SELECT, [clientIds])
  return {
    covering(clientId, model) {
      let longest: string | null = null
      for (const { client_id: of, model: pattern } of rows) {
        if ((of !== null && of !== clientId) || !coversModel(pattern, model)) continue
        if (longest === null || pattern.length > longest.length) longest = pattern
      }
      return longest
    },
  }
}
