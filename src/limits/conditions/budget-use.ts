import { utcDayOf } from '../../domain/utc-day.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { type BudgetPeriod, budgetPeriodOf } from '../limit.ts'
import { selectGroupBudgets } from '../spent/group-budgets.ts'
import { SPENT_OF_BUDGETS } from './spent-budgets.ts'

/** How much is spent of a budget in its period of now. */
interface SpentPart {
  /** The id of the limit. */
  readonly limit: string
  readonly per: BudgetPeriod
  /** The name of the client that has spent it; `null`: a group, or not asked for, and it is the one that has spent most. */
  readonly client: string | null
  /** 1: all of it. */
  readonly used: number
}

const MOST = 10

const USED = 'max(s.pico / nullif(b.amount, 0))::float8'
const BY_LIMIT = `select b.id as limit, b.per, null::text as client, ${USED} as used
  from spent s join budget b on b.id = s.id group by b.id, b.per`
const BY_CLIENT = `select b.id as limit, b.per, c.name as client, ${USED} as used
  from spent s join budget b on b.id = s.id join ${SCHEMA}.clients c on c.id = s.client_id group by b.id, b.per, c.name`

/**
 * The budgets of which most is spent, at most ten, by what is counted. A default is one for each client. Those of groups
 * are among them, without a client.
 *
 * @throws When Postgres is away.
 */
export async function selectBudgetUse(
  pool: Postgres,
  nowMs: number,
  namesClients: boolean,
): Promise<readonly SpentPart[]> {
  const day = utcDayOf(nowMs)
  const week = budgetPeriodOf('week', null, day)
  const month = budgetPeriodOf('month', null, day)
  const { rows } = await pool.query<SpentPart>(
    `with ${SPENT_OF_BUDGETS}
     select * from (${namesClients ? BY_CLIENT : BY_LIMIT}) u where used is not null order by used desc limit ${MOST}`,
    [day, week.fromDay, week.toDay, month.fromDay, month.toDay],
  )
  const ofGroups = (await selectGroupBudgets(pool, day)).flatMap(
    ({ limit, spentPico, amountPico }): readonly SpentPart[] =>
      amountPico === 0n || limit.per === null
        ? []
        : [{ limit: limit.id, per: limit.per, client: null, used: Number(spentPico) / Number(amountPico) }],
  )
  return [...rows, ...ofGroups].sort((left, right) => right.used - left.used).slice(0, MOST)
}
