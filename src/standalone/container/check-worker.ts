// A worker container's health check. What it keeps compiled is also the worker's, so it keeps it as that does.
import { keepCompiledModules } from '../../lib/compile-cache.ts'

keepCompiledModules()
await import('./check-backlog.ts')
