import { CERTIFICATES } from './certificates.ts'
import { CLOCKS } from './clocks.ts'
import { CONNECTIONS } from './connections.ts'
import { CREDENTIALS } from './credentials.ts'
import { DISKS } from './disks.ts'
import { MIGRATIONS, POSTGRES } from './postgres.ts'
import { CONFIGURATIONS, PROCESSES, RELEASES } from './processes.ts'
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
  PROCESSES,
  RELEASES,
  CONFIGURATIONS,
  UPSTREAMS,
  CREDENTIALS,
  DISKS,
  CERTIFICATES,
  REDIS,
  WORKERS,
] as const
