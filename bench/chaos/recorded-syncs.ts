import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, dirname } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { SEGMENT_FILE } from './dead-log.ts'
import { SYNC_SIGNALS } from './gateway-signals.ts'
import { recordSyncedEnd } from './synced-ends.ts'

/**
 * Loaded first into gateways of a chaos run. After one signal, each sync of a segment records how far it went; after
 * another, each also takes up to a second. What was written while it lasted is not among it. So a simulated power
 * loss can cut where a real one might. Segments are synced in their order, so the last record is that of the log.
 */
const SLOW_MIN_MS = 100
const SLOW_SPREAD_MS = 900
const recordFolder = process.env.CHAOS_FOLDER ?? ''
let isRecorded = false
let isSlow = false

if (isMainThread) {
  const { fdatasync } = fs
  // The gateway takes the function when it is loaded: it cannot be replaced later.
  Reflect.set(fs, 'fdatasync', (descriptor: number, callback: fs.NoParamCallback) => {
    if (isRecorded) syncAndRecord(descriptor, fdatasync, callback)
    else fdatasync(descriptor, callback)
  })
  syncBuiltinESMExports()
  process.on(SYNC_SIGNALS.progress, () => {
    isRecorded = true
  })
  process.on(SYNC_SIGNALS.slow, () => {
    isRecorded = true
    isSlow = true
  })
}

function syncAndRecord(
  descriptor: number,
  fdatasync: typeof fs.fdatasync,
  callback: fs.NoParamCallback,
): void {
  const path = fs.readlinkSync(`/proc/self/fd/${descriptor}`)
  const segment = Number(SEGMENT_FILE.exec(basename(path))?.[1] ?? 0)
  const position = fs.fstatSync(descriptor).size
  const sync = () =>
    fdatasync(descriptor, (error) => {
      const producer = basename(dirname(path))
      if (error === null && segment > 0) recordSyncedEnd(recordFolder, producer, { segment, position })
      callback(error)
    })
  if (isSlow) setTimeout(sync, SLOW_MIN_MS + Math.random() * SLOW_SPREAD_MS)
  else sync()
}
