import { gatewayChannel, limitsName } from '../../src/domain/redis/redis-names.ts'
import { parseField } from '../../src/limits/sharing/gateway-field.ts'
import { gatewayFieldName } from '../../src/limits/sharing/known-gateways.ts'
import { withRedis } from './with-redis.ts'
import { REDIS_PREFIX, type World } from './world.ts'

const GATEWAYS = gatewayFieldName('')

/** Where gateways that run say that calls still reserve something of a budget, though none is under way. */
export async function heldBudgets(world: World): Promise<readonly string[]> {
  const { rows } = await world.pool.query<Record<'id' | 'name', string>>(
    'select id, name from tallygate.clients',
  )
  return await withRedis(world, async (redis) => {
    const held: string[] = []
    for (const { id, name } of rows) {
      const fields = await redis.hgetall(limitsName(REDIS_PREFIX, id))
      for (const [field, text] of Object.entries(fields)) {
        const gateway = field.startsWith(GATEWAYS) ? field.slice(GATEWAYS.length) : null
        const accounts = gateway === null ? [] : (parseField(text)?.accounts.values() ?? [])
        const reserved = [...accounts].reduce((sum, account) => sum + account.reserved, 0n)
        // One that has ended hears nothing, and what it held is free.
        if (
          gateway !== null &&
          reserved > 0n &&
          (await redis.publish(gatewayChannel(REDIS_PREFIX, gateway), '?')) > 0
        )
          held.push(`${name}: ${reserved} at ${gateway}`)
      }
    }
    return held
  })
}
