// The gateway's program.
import { keepCompiledModules } from '../lib/compile-cache.ts'

keepCompiledModules()
await import('./serve.ts')
