import {
  type MortalServer,
  type MortalServerOptions,
  startMortalPostgres,
} from '../../../src/standalone/stand/private-servers.ts'
import { moveClock } from './database-clock.ts'

export {
  type MortalServer as TestServer,
  startMortalRedis as startPrivateRedis,
} from '../../../src/standalone/stand/private-servers.ts'

/** In a run whose clock was moved, the clock of this one moves along. */
export async function startPrivatePostgres(options: MortalServerOptions = {}): Promise<MortalServer> {
  const server = await startMortalPostgres(options)
  await moveClock(server.url)
  return server
}
