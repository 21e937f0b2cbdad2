import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { coversModel, nameOfAll } from '../covers-model.ts'
import { MODEL_OF_LIMIT } from './limit-rows.ts'

/** The models that budgets of a client's calls are for: its own ones, the defaults, and those of its groups. */
export interface ModelBudgets {
  /**
   * A name for calls of the model that counts for the same ones of them: one of them, or a name of several; `null`: none
   * is about it.
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
      const own = rows.filter(({ client_id: of }) => of === null || of === clientId)
      const about = (name: string) =>
        own.flatMap(({ model: pattern }) => (coversModel(pattern, name) ? [pattern] : []))
      const patterns = about(model)
      if (patterns.length === 0) return null
      return patterns.find((pattern) => about(pattern).join() === patterns.join()) ?? nameOfAll(patterns)
    },
  }
}
