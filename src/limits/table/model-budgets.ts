import type { PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { coversModel } from '../covers-model.ts'

/** The models that budgets of a client are for: its own ones and the defaults. */
export interface ModelBudgets {
  /**
   * The longest of them that covers the model; `null`: none does. Of two that cover it, the longer one is covered by
   * the other, so a total under its name counts for both.
   */
  covering(clientId: string, model: string): string | null
}

/** Reads the models that budgets of these clients are for. */
export async function selectModelBudgets(
  session: PostgresSession,
  clientIds: readonly string[],
): Promise<ModelBudgets> {
  const { rows } = await session.query<{ client_id: string | null; model: string }>(
    `select distinct client_id, model from ${SCHEMA}.limits
     where removed_at is null and kind = 'budget' and model is not null
       and axis is null and group_id is null and (client_id = any($1::text[]) or client_id is null)`,
    [clientIds],
  )
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
