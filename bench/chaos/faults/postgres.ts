import { execFile } from 'node:child_process'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { type Fault, NotNow } from '../fault.ts'

const FROZEN_MS = 5_000
/** Workers find a Postgres that was restarted within their backoff. */
const COUNTED_WITHIN_MS = 30_000
/** Gateways read committed offsets every second. */
const OFFSETS_READ_MS = 2_500
const run = promisify(execFile)

/** A Postgres that ends, hangs, or is restored to an earlier state. */
export const postgresFaults: readonly Fault[] = [
  {
    name: 'postgres restart',
    part: 'postgres',
    async inject({ postgres }, random) {
      await postgres.kill()
      await delay(random.between(0, 1_500))
      await postgres.start()
    },
  },
  {
    name: 'postgres frozen',
    part: 'postgres',
    async inject({ postgres }) {
      postgres.freeze()
      await delay(FROZEN_MS)
      postgres.thaw()
    },
  },
  {
    name: 'postgres fails over to a moment ago',
    part: 'postgres',
    alone: true, // what another fault takes from a journal now could not be sent again
    async inject({ postgres, pool }, random) {
      const began = await sumOfOffsets(pool)
      const [data, before] = [join(postgres.folder, 'data'), join(postgres.folder, 'a-moment-ago')]
      await rm(before, { recursive: true, force: true }) // of a try that was put off
      await postgres.kill()
      // The system's cp keeps the owner, which is not root.
      await run('cp', ['-a', '--reflink=auto', data, before])
      await postgres.start()
      await delay(random.between(1_000, 6_000))
      await counted(pool, began)
      // A gateway that has read a committed offset is to see that it regressed.
      await delay(OFFSETS_READ_MS)
      await postgres.kill()
      await rm(data, { recursive: true, force: true })
      await rename(before, data)
      await postgres.start()
    },
  },
]

/** Waits until something was counted that can be taken back. */
async function counted(pool: Postgres, before: bigint): Promise<void> {
  const until = performance.now() + COUNTED_WITHIN_MS
  // Its own connections too are to find the restarted server.
  while ((await sumOfOffsets(pool).catch(() => before)) === before) {
    if (performance.now() > until) throw new NotNow('nothing was counted')
    await delay(100)
  }
}

/** @throws NotNow where Postgres does not answer */
async function sumOfOffsets(pool: Postgres): Promise<bigint> {
  const { rows } = await pool
    .query<{ sum: string }>('select coalesce(sum(mark), 0) as sum from tallygate.producers')
    .catch((error) => {
      throw new NotNow(`Postgres: ${error}`)
    })
  return BigInt(rows[0]?.sum ?? 0)
}
