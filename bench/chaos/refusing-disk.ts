import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { SEGMENT_FILE } from './dead-log.ts'

/**
 * Loaded first into gateways of a chaos run: while a file says so, this process alone can write to no segment. Also not
 * when the disk reserve was given back, which is harder than a disk that is full.
 */
const file = refusalFile(process.env.CHAOS_FOLDER ?? '', process.pid)

/** The file that makes the journals of a process refuse. */
export function refusalFile(folder: string, pid: number): string {
  return join(folder, `refuses-${pid}`)
}

if (isMainThread && process.env.CHAOS_FOLDER !== undefined) {
  const { writeSync } = fs
  Reflect.set(fs, 'writeSync', (...given: Parameters<typeof writeSync>) => {
    if (fs.existsSync(file) && SEGMENT_FILE.test(basename(fs.readlinkSync(`/proc/self/fd/${given[0]}`))))
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    return writeSync(...given)
  })
  syncBuiltinESMExports()
}
