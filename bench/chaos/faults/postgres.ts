import { execFile } from 'node:child_process'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Fault } from '../fault.ts'

const FROZEN_MS = 5_000
const run = promisify(execFile)

/** A Postgres that ends, hangs, or goes back in time. */
export const postgresFaults: readonly Fault[] = [
  {
    name: 'postgres restart',
    part: 'postgres',
    alone: false,
    async inject({ postgres }, random) {
      await postgres.kill()
      await delay(random.between(0, 1_500))
      await postgres.start()
    },
  },
  {
    name: 'postgres frozen',
    part: 'postgres',
    alone: false,
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
    async inject({ postgres }, random) {
      const [data, before] = [join(postgres.folder, 'data'), join(postgres.folder, 'a-moment-ago')]
      await postgres.kill()
      // By the system's cp: it keeps the owner, who is not root.
      await run('cp', ['-a', '--reflink=auto', data, before])
      await postgres.start()
      await delay(random.between(1_000, 6_000))
      await postgres.kill()
      await rm(data, { recursive: true, force: true })
      await rename(before, data)
      await postgres.start()
    },
  },
]
