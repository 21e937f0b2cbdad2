import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey } from '../../../src/keys/keys.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startPostgres } from '../../../src/standalone/servers/postgres.ts'
import { startRedis } from '../../../src/standalone/servers/redis.ts'
import { findRedisProgram } from '../../../src/standalone/servers/redis-program.ts'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import type { CleanUp } from './own-process.ts'

/** A durable PostgreSQL and Redis, migrated, with one client and its key. */
export interface Stores {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly pepper: string
  readonly key: string
  readonly pids: { readonly postgres: number; readonly redis: number }
}

export async function startStores(folder: string, cleanUp: CleanUp): Promise<Stores> {
  const log = createLog('silent', 'bench')
  const password = randomBytes(8).toString('hex')
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), password, durable: true })
  cleanUp.push(() => postgres.stop())
  const program = await findRedisProgram({ say: console.error, ask: async () => true })
  const redis = await startRedis({ folder: join(folder, 'redis'), password, durable: true, program })
  cleanUp.push(() => redis.stop())
  await migrate(postgres.url, log)
  const pepper = randomBytes(16).toString('hex')
  const settings = { max: 1, statementTimeoutMs: 5_000, applicationName: 'bench', log }
  const pool = openPostgres(postgres.url, settings)
  await createClient(pool, 'bench')
  const order = { client: 'bench', name: 'bench', models: null, expiresInSeconds: null }
  const key = (await createClientKey(pool, order, pepper))?.key ?? ''
  await pool.end()
  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    pepper,
    key,
    pids: { postgres: postgres.pid, redis: redis.pid },
  }
}
