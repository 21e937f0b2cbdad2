// The command line's program.
import { keepCompiledModules } from '../lib/compile-cache.ts'

keepCompiledModules()
await import('./command-line.ts')
