import { fileURLToPath } from 'node:url'
import { COMPILED_FOLDER } from '../../lib/compile-cache.ts'
import { type DetachedProcess, startDetached, stopDetached } from './detached-process.ts'
import type { Run } from './supervise.ts'

export interface NodeProcess extends Run {
  /** false once it ended. */
  readonly running: boolean
  lastWords(lines?: number): string
}

/**
 * New objects have up to 96 MB where the machine has the memory, and a call needs none of it for long. V8 collects and
 * compiles on four threads of its own, on however few cores: calls then wait for theirs. One keeps up.
 */
const NODE_ARGS = ['--max-semi-space-size=16', '--v8-pool-size=1']
/** glibc keeps what it once had, and a heap for each thread. With these a gateway has some 14 MB less when it is idle. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '262144' }
const DIE_WITH_PARENT = new URL('./die-with-parent.ts', import.meta.url).href

/** Starts one of our own programs with the running Node. It ends when this process does. */
export async function startNode(options: {
  /** From the project's root: `src/gateway/server.ts`. */
  readonly script: string
  readonly args?: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly logFile: string
}): Promise<NodeProcess> {
  const script = fileURLToPath(new URL(`../../../${options.script}`, import.meta.url))
  const args = [...NODE_ARGS, '--import', DIE_WITH_PARENT, script, ...(options.args ?? [])]
  const started: DetachedProcess = await startDetached(
    {
      file: process.execPath,
      args,
      env: { NODE_COMPILE_CACHE: COMPILED_FOLDER, ...ALLOCATOR, ...options.env },
    },
    { cwd: process.cwd(), logFile: options.logFile, withChannel: true },
  )
  return {
    pid: started.pid,
    ended: started.ended,
    get running() {
      return started.running
    },
    lastWords: (lines) => started.lastWords(lines),
    stop: (graceMs) => stopDetached(started, [{ signal: 'SIGTERM', graceMs }]),
  }
}
