import type { OnReadOpts } from 'node:net'

/** What one read brings at most. */
const READ_BYTES = 64 * 1024

/**
 * Every socket reads into the same memory, in its turn: Node would else allocate 64 KiB for each read, and give
 * most of it back.
 */
const shared = Buffer.allocUnsafeSlow(READ_BYTES)

/** The option of a socket that gives what it reads to `onBytes`, in memory of its own, and emits no `data`. */
export function readsTo(onBytes: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: shared,
    callback(bytesRead) {
      const bytes = Buffer.allocUnsafe(bytesRead)
      shared.copy(bytes, 0, 0, bytesRead)
      onBytes(bytes)
      return true
    },
  }
}
