import { rmSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type Fault, NotNow } from '../fault.ts'
import type { Gateway } from '../gateway.ts'
import { refusalFile } from '../refusing-disk.ts'
import { pickRunning } from './processes.ts'

const FULL_MS = 4_000
/** Journals have room in segments that are made: not every gateway meets the full disk at once. */
const REFUSES_WITHIN_MS = 15_000
/** From room on the disk to calls taken again: the journal tries every 10 s at most. */
const RECOVERS_WITHIN_MS = 25_000
/** A filler goes on taking the disk space that gateways free. */
const FILL_AGAIN_MS = 1_000

export const FULL_FILE_SYSTEM = 'journal file system full'

/** Disks that take no more. */
export const diskFaults: readonly Fault[] = [
  {
    name: 'journal disk full',
    part: 'gateways',
    async inject({ gateways, recordFolder }, random) {
      const gateway = pickRunning(gateways, random)
      const files = gateway.takers().map(({ pid }) => refusalFile(recordFolder, pid))
      try {
        for (const file of files) writeFileSync(file, '')
        if ((await refusing([gateway], REFUSES_WITHIN_MS)).length === 0)
          throw new NotNow('the gateway wrote nothing to its journals')
        await delay(FULL_MS)
      } finally {
        for (const file of files) rmSync(file, { force: true })
      }
      await takeCallsAgain([gateway])
    },
  },
  {
    name: FULL_FILE_SYSTEM,
    part: 'gateways',
    missing: ({ journalDisk }) => (typeof journalDisk === 'string' ? journalDisk : null),
    async inject({ gateways, journalDisk }) {
      if (typeof journalDisk === 'string') throw new NotNow(journalDisk)
      const running = gateways.filter((gateway) => gateway.running)
      try {
        await journalDisk.fill()
        if ((await refusing(running, REFUSES_WITHIN_MS)).length === 0)
          throw new NotNow('no gateway needed room on its disk')
        const until = performance.now() + FULL_MS
        while (performance.now() < until) {
          await journalDisk.fill()
          await delay(FILL_AGAIN_MS)
        }
      } finally {
        await journalDisk.free()
      }
      await takeCallsAgain(running)
    },
  },
]

/** Waits until each of them has refused calls; those that did when `limitMs` is over. */
async function refusing(gateways: readonly Gateway[], limitMs: number): Promise<Gateway[]> {
  const until = performance.now() + limitMs
  const refused = new Set<Gateway>()
  while (refused.size < gateways.length && performance.now() < until) {
    for (const gateway of gateways) if (await gateway.refuses()) refused.add(gateway)
    await delay(50)
  }
  return [...refused]
}

async function takeCallsAgain(gateways: readonly Gateway[]): Promise<void> {
  const until = performance.now() + RECOVERS_WITHIN_MS
  for (const gateway of gateways) {
    while (await gateway.refuses()) {
      if (performance.now() > until) throw new Error(`${gateway.name} takes no calls with room on its disk`)
      await delay(100)
    }
  }
}
