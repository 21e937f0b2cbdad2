import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

/**
 * The folder where programs keep what Node compiled, unless the environment's NODE_COMPILE_CACHE names another folder.
 */
export const COMPILED_FOLDER = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url))

/**
 * Lets Node keep what it compiles, so that the next start of a program takes half the time and 30 MB less. It has to
 * be called before the modules are loaded that it is for: programs call it, and import the rest then. Where NODE_COMPILE_CACHE
 * names the folder, Node also keeps the program's first file, and need not load what strips types: 50 ms and 8 MB.
 *
 * The folder belongs to the installation, as the code does: in a shared one, such as the system's for
 * temporary files, another user could leave code for us to run. One that cannot be written is only read; then, and
 * where there is none, programs start as they always did.
 *
 * What runs often is kept compiled too: {@link keepOptimizedCode}. V8 takes nothing that was kept under other flags, so
 * programs that share files all do both, in this order.
 *
 * @returns The folder, or `null` where Node could not use it.
 */
export function keepCompiledModules(folder = COMPILED_FOLDER): string | null {
  keepOptimizedCode()
  return enableCompileCache(folder).directory ?? null
}

/**
 * Machine code stays while the process is idle. V8 drops code once all objects of the kinds that it is for have been
 * collected, and after eight idle seconds it collects with all means. A gateway has no object of a call then: the
 * thousands of calls after a pause ran slower, and paid for compiling the same code again.
 *
 * What such collections gave back is bounded otherwise: garbage may grow to half of what is in use before it is
 * collected, not to four times, and a gateway's `releaseMemoryWhenIdle` collects with all means in a longer pause.
 *
 * The flags are those of V8 13.6. One that a later V8 does not know is named on stderr, and nothing else happens.
 */
export function keepOptimizedCode(): void {
  // Kinds of objects that code was compiled for outlive so many collections without an object.
  setFlagsFromString('--retain-maps-for-n-gc=1000')
  // They do not, where V8 prefers memory to speed.
  setFlagsFromString('--no-memory-reducer-favors-memory')
  // Code that is compiled once stays, however long it is not called.
  setFlagsFromString('--no-flush-bytecode')
  setFlagsFromString('--heap-growing-percent=50')
}
