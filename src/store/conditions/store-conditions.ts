import { CLOCKS } from './clocks.ts'
import { CONNECTIONS } from './connections.ts'
import { MIGRATIONS, POSTGRES } from './postgres.ts'
import { REDIS } from './redis.ts'
import { REPLICA } from './replica.ts'
import { UPSTREAMS } from './upstreams.ts'
import { WORKERS } from './workers.ts'

/** The servers come first: without them nothing of them can be asked. */
export const STORE_CONDITIONS = [
  POSTGRES,
  MIGRATIONS,
  CLOCKS,
  CONNECTIONS,
  REPLICA,
  REDIS,
  WORKERS,
  UPSTREAMS,
] as const
