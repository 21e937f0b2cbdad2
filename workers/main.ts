// The worker's program.
import { keepCompiledModules } from '../src/lib/compile-cache.ts'

keepCompiledModules()
await import('./run.ts')
