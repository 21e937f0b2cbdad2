import { type Rotation, rotateKey } from '../../keys/keys.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { moveTried } from '../tried/tried-table.ts'
import { addLimitChanges } from './limit-changes.ts'
import { LIMIT_COLUMNS, type LimitRow, limitFrom, takeLimitVersion } from './limit-rows.ts'

/**
 * Replaces a key by a new one, and moves the old one's limits to it. They stay the same limits, so what was spent of
 * them does not begin again, and while both keys are valid they share them.
 *
 * @param overlapSeconds So long the old key goes on.
 * @param who For the audit of the limits.
 */
export async function rotateLimitedKey(
  pool: Postgres,
  id: string,
  overlapSeconds: number,
  pepper: string,
  who: string,
): Promise<Rotation> {
  return await inTransaction(pool, async (session) => {
    // Before any key, as a change of limits locks the key it names: two orders would deadlock.
    const version = await takeLimitVersion(session)
    const rotation = await rotateKey(session, id, overlapSeconds, pepper)
    if (rotation.kind === 'rotated') {
      await moveLimits(session, id, rotation.key.id, version, who)
      await moveTried(session, id, rotation.key.id)
    }
    return rotation
  })
}

async function moveLimits(
  session: PostgresSession,
  oldKey: string,
  newKey: string,
  version: string,
  who: string,
): Promise<void> {
  const { rows } = await session.query<LimitRow>(
    `select ${LIMIT_COLUMNS} from ${SCHEMA}.limits l
     where removed_at is null and (key_id = $1 or $1 = any(former_keys)) order by id`,
    [oldKey],
  )
  for (const before of rows.map(limitFrom)) {
    const { rows: moved } = await session.query<LimitRow>(
      `update ${SCHEMA}.limits l set key_id = $2, former_keys = former_keys || key_id, changed_at = now(),
         version = $3
       where id = $1 returning ${LIMIT_COLUMNS}`,
      [before.id, newKey, version],
    )
    const after = moved.map(limitFrom)[0] ?? null
    await addLimitChanges(session, [{ who, action: 'rotate', before, after }])
  }
}
