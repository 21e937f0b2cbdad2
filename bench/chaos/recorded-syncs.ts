import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, dirname } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { SYNC_SIGNALS } from './gateway-signals.ts'
import { checkpointedMs, recordSyncedEnd } from './synced-ends.ts'
import { commitEnds, readWal } from './wal-file.ts'

/**
 * Loaded first into gateways of a chaos run. After one signal, each sync of a WAL records how far it went; after
 * another, each also takes up to a second. What was written while it lasted is not among it. So a simulated power
 * loss can cut where a real one might.
 */
const SLOW_MIN_MS = 100
const SLOW_SPREAD_MS = 900
const recordFolder = process.env.CHAOS_FOLDER ?? ''
let isRecorded = false
let isSlow = false

if (isMainThread) {
  process.on(SYNC_SIGNALS.progress, recordSyncs)
  process.on(SYNC_SIGNALS.slow, () => {
    isSlow = true
    recordSyncs()
  })
}

function recordSyncs(): void {
  if (isRecorded) return
  isRecorded = true
  const { fdatasync } = fs
  Reflect.set(fs, 'fdatasync', (descriptor: number, callback: fs.NoParamCallback) => {
    const folder = dirname(fs.readlinkSync(`/proc/self/fd/${descriptor}`))
    const synced = { checkpointedMs: checkpointedMs(folder), end: commitEnds(readWal(folder)).at(-1) ?? 0 }
    const sync = () =>
      fdatasync(descriptor, (error) => {
        if (error === null) recordSyncedEnd(recordFolder, basename(folder), synced)
        callback(error)
      })
    if (isSlow) setTimeout(sync, SLOW_MIN_MS + Math.random() * SLOW_SPREAD_MS)
    else sync()
  })
  syncBuiltinESMExports()
}
