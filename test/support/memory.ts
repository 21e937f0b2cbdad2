import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * What this process holds, in bytes, once everything that is not referenced is gone. Without that, a
 * figure tells when garbage was last collected, which is the machine's mood and not the code's.
 */
export function heldMemory(): NodeJS.MemoryUsage {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // Twice: array buffers are swept beside the program, and the next collection waits for that.
  collect()
  collect()
  return process.memoryUsage()
}
