import { DatabaseSync } from 'node:sqlite'

/**
 * `passive`: moves what it can into the database while the owner writes on.
 * `restart`: moves the rest and starts the WAL again; the owner must not write meanwhile. `truncate`: also frees the
 * WAL's space, which makes later syncs slower, because they must record the file's growth.
 */
export type CheckpointMode = 'passive' | 'restart' | 'truncate'

export interface CheckpointResult {
  /** Frames that are in the WAL and not in the database yet. */
  readonly framesLeft: number
}

/**
 * Checkpoints the journal at `path` through a connection of its own. It blocks on disk writes and syncs, so only the
 * thread may call it. After `restart` and `truncate` everything committed before is synced, in the database or the WAL.
 */
export function checkpoint(path: string, mode: CheckpointMode): CheckpointResult {
  const database = new DatabaseSync(path, { timeout: 2_000 })
  try {
    database.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0')
    const result = database.prepare(`pragma wal_checkpoint(${mode})`).get()
    const framesLeft = Number(result?.log ?? 0) - Number(result?.checkpointed ?? 0)
    // The first commit in a restarted WAL writes and syncs its header. It is made here, not on the event loop.
    if (mode !== 'passive' && Number(result?.busy) === 0) {
      database.exec("update meta set value = value where name = 'pruned_to'")
    }
    return { framesLeft: Number(result?.busy) === 0 ? framesLeft : Math.max(framesLeft, 1) }
  } finally {
    database.close()
  }
}
