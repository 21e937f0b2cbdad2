import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, dirname } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { SLOW_DISK_SIGNAL } from './crash-signals.ts'
import { checkpointedMs, noteSyncedEnd } from './synced-ends.ts'
import { commitEnds, readWal } from './wal-file.ts'

/**
 * Loaded first into gateways of a chaos run: once told by a signal, each sync of a WAL takes up to a second, and leaves word
 * of how far it went. What was written while it lasted is not among it. So a simulated power loss can cut where a
 * real one might, with many records between what was synced and what was written.
 */
const SYNC_MIN_MS = 100
const SYNC_SPREAD_MS = 900
const noteFolder = process.env.CHAOS_FOLDER ?? ''

let isSlow = false

if (isMainThread)
  process.on(SLOW_DISK_SIGNAL, () => {
    if (!isSlow) slowDown()
    isSlow = true
  })

function slowDown(): void {
  const { fdatasync } = fs
  Reflect.set(fs, 'fdatasync', (descriptor: number, callback: fs.NoParamCallback) => {
    const folder = dirname(fs.readlinkSync(`/proc/self/fd/${descriptor}`))
    const synced = { checkpointedMs: checkpointedMs(folder), end: commitEnds(readWal(folder)).at(-1) ?? 0 }
    const sync = () =>
      fdatasync(descriptor, (error) => {
        if (error === null) noteSyncedEnd(noteFolder, basename(folder), synced)
        callback(error)
      })
    setTimeout(sync, SYNC_MIN_MS + Math.random() * SYNC_SPREAD_MS)
  })
  syncBuiltinESMExports()
}
