import type { Fault } from './fault.ts'
import { diskFaults } from './faults/disks.ts'
import { garbledJournalFaults } from './faults/garbled-journals.ts'
import { journalFaults } from './faults/journals.ts'
import { networkFaults } from './faults/network.ts'
import { postgresFaults } from './faults/postgres.ts'
import { processFaults } from './faults/processes.ts'
import { redisFaults } from './faults/redis.ts'
import { strainedRedisFaults } from './faults/strained-redis.ts'

/** Every fault there is. */
export const FAULTS: readonly Fault[] = [
  ...processFaults,
  ...redisFaults,
  ...strainedRedisFaults,
  ...postgresFaults,
  ...networkFaults,
  ...diskFaults,
  ...journalFaults,
  ...garbledJournalFaults,
]
