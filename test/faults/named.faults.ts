import { afterAll, expect, test } from 'vitest'
import { CERTIFICATE_FAULTS } from './faults/certificates.ts'
import { DEPLOYMENT_FAULTS } from './faults/deployment.ts'
import { DISK_FAULTS } from './faults/disks.ts'
import { PRICE_FAULTS } from './faults/prices.ts'
import { PROCESS_FAULTS } from './faults/processes.ts'
import { SERVER_FAULTS } from './faults/servers.ts'
import { UPSTREAM_FAULTS } from './faults/upstreams.ts'
import { meetFault, type Row, renderRows } from './meet-fault.ts'
import { startWorld, type World } from './world.ts'

const FAULTS = [
  ...DISK_FAULTS,
  ...PROCESS_FAULTS,
  ...UPSTREAM_FAULTS,
  ...CERTIFICATE_FAULTS,
  ...DEPLOYMENT_FAULTS,
  ...PRICE_FAULTS,
  ...SERVER_FAULTS,
]
/** The end of one that hangs: processes start and stop on a busy machine before it and after it. */
const ENDS_WITHIN_MS = 900_000
const rows: Row[] = []
let world: World | null = null

afterAll(async () => {
  console.log(`\n${renderRows(rows)}\n`)
  await world?.stop()
})

test.each(FAULTS.map((fault) => [fault.name, fault] as const))(
  '%s: it is named within 15 s, and what is printed repairs it within 30 s',
  {
    timeout: ENDS_WITHIN_MS,
  },
  async (_, fault) => {
    const met = world ?? (await startWorld())
    // What a fault leaves that was not repaired is not the next one's.
    world = null
    const row: Row = { fault: fault.name, named: [], wellAfterMs: null, problems: [] }
    rows.push(row)
    try {
      await meetFault(met, fault, row)
      expect(row.problems).toEqual([])
      world = met
    } finally {
      if (world === null) await met.stop()
    }
  },
)
