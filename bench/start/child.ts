import { flushCompileCache } from 'node:module'
import { keepCompiledModules } from '../../src/lib/compile-cache.ts'

/** Loads one program, and prints how long that took, in ms, and what the process holds then, in MB. */
const [program = '', keep = ''] = process.argv.slice(2)
const began = performance.now()
if (keep === 'kept') keepCompiledModules()
await import(program)
const ms = performance.now() - began
flushCompileCache()
console.log(ms, process.memoryUsage.rss() / 1e6)
process.exit(0)
