import { createClient, findClient } from '../keys/clients.ts'
import { createClientKey } from '../keys/keys.ts'
import type { Postgres } from '../store/connection/postgres.ts'

export const DEMO_CLIENT = 'demo'

/** Creates a key of the demo client, and the client if it does not exist. Its text is known only now. */
export async function createDemoKey(pool: Postgres, pepper: string): Promise<string> {
  if ((await findClient(pool, DEMO_CLIENT)) === null) await createClient(pool, DEMO_CLIENT)
  const order = { client: DEMO_CLIENT, name: 'npm start', models: null, expiresInSeconds: null }
  const made = await createClientKey(pool, order, pepper)
  if (made === null) throw new Error(`the client "${DEMO_CLIENT}" was deleted while its key was being made`)
  return made.key
}
