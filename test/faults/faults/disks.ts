import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { mountOwnFileSystem, type OwnFileSystem } from '../../../bench/chaos/own-file-system.ts'
import type { Fault } from '../fault.ts'

const run = promisify(execFile)
let disk: OwnFileSystem | null = null

/** A disk of our own for the journal. Needs root and loop devices, as chaos does. */
async function ownDisk(): Promise<OwnFileSystem> {
  if (disk !== null) return disk
  const mounted = await mountOwnFileSystem()
  if (typeof mounted === 'string') throw new Error(mounted)
  disk = mounted
  return mounted
}

const journalOnIt = async () => ({ JOURNAL_DIR: join((await ownDisk()).folder, 'journal') })
const free = async () => (await ownDisk()).free()

export const DISK_FAULTS: readonly Fault[] = [
  {
    name: 'the disk of the journal is full',
    gateway: journalOnIt,
    begin: async () => (await ownDisk()).fill(),
    line: 'disks',
    says: /the disk of the journal is full, so calls are refused .* takes nothing more/,
    advice: /^free space on it/,
    item: 'journal',
    alert: 'disk',
    repair: free,
  },
  {
    name: 'the disk of the journal is 90 % full',
    gateway: journalOnIt,
    async begin() {
      const { folder } = await ownDisk()
      const { bavail, blocks, bsize } = await statfs(folder)
      const bytes = (bavail - Math.floor(blocks * 0.08)) * bsize
      await run('fallocate', ['-l', `${bytes}`, join(folder, 'ballast-most')])
    },
    line: 'disks',
    says: /the disk of the journal is nearly full: gateway .* 9\d %, \d+ MiB are free/,
    advice: /^free space on it/,
    alert: 'disk',
    repair: free,
  },
  {
    name: 'JOURNAL_DIR is read-only at a start',
    gateway: journalOnIt,
    async begin({ gateway, meet }) {
      await gateway.stop(20_000)
      meet()
      await run('mount', ['-o', 'remount,ro', (await ownDisk()).folder])
      return await gateway.start().then(
        () => 'it started',
        (error: unknown) => String(error),
      )
    },
    line: 'journals',
    says: /is on a file system that is read-only/,
    advice: /JOURNAL_DIR/,
    async repair({ gateway }) {
      await run('mount', ['-o', 'remount,rw', (await ownDisk()).folder])
      await gateway.start()
    },
  },
]
