import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import type { LimitScope } from '../../src/limits/subject.ts'
import type { LimitOrder } from '../../src/limits/table/change-limits.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { quiet } from '../rollup/records.ts'
import { createTestDatabase } from '../support/servers/database.ts'

/** A database for tests of limits. */
export interface LimitDatabase {
  readonly pool: Postgres
  /** Makes a client. @returns Its id. */
  newClient(name: string): Promise<string>
  /** Makes a key of a client. @returns Its id. */
  newKey(client: string): Promise<string>
  drop(): Promise<void>
}

export async function openLimitDatabase(): Promise<LimitDatabase> {
  const database = await createTestDatabase()
  const pool = openPostgres(database.url, {
    max: 6,
    statementTimeoutMs: 10_000,
    applicationName: 'test limits',
    log: quiet,
  })
  return {
    pool,
    async newClient(name) {
      const client = await createClient(pool, name)
      if (client === null) throw new Error(`${name} exists`)
      return client.id
    },
    async newKey(client) {
      const order = { client, name: 'label', models: null, expiresInSeconds: null }
      const key = await createClientKey(pool, order, 'pepper')
      if (key === null) throw new Error(`there is no client ${client}`)
      return key.id
    },
    async drop() {
      await pool.end()
      await database.drop()
    },
  }
}

export function scopeOf(clientId: string | null, changes: Partial<LimitScope> = {}): LimitScope {
  return { clientId, keyId: null, model: null, ...changes }
}

export function requestsAMinute(amount: bigint): LimitOrder {
  return { kind: 'requests', per: null, isSoft: false, amount }
}

export function budget(pico: bigint, changes: Partial<LimitOrder> = {}): LimitOrder {
  return { kind: 'budget', per: 'month', isSoft: false, amount: pico, ...changes }
}
