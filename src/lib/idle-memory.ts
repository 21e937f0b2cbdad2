import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The work that a process has done so far, and that it is doing. */
export interface Activity {
  /** Tasks under way. */
  readonly underWay: number
  /** A count that rises with each task that ends. */
  readonly done: number
}

export interface IdleMemoryOptions {
  /** A process that did nothing since it started is idle after this long. */
  readonly idleMs?: number
  /** One that did something, after this long. */
  readonly idleAfterWorkMs?: number
  /** How long it keeps what it takes again, at least. */
  readonly againMs?: number
  /** Collects all garbage. */
  readonly collect?: () => void
}

const IDLE_MS = 5_000
const IDLE_AFTER_WORK_MS = 60_000
const AGAIN_MS = 600_000
/** Less than this is not worth the pause: a share of what the heap held after the last collection. */
const WORTH = 1.5

/**
 * Gives memory back to the system while a process is idle. V8 collects only where something is allocated: what a
 * start or a burst of calls left behind would stay for hours, a third of the process. It stands still meanwhile, for
 * 0.1 s of CPU, and what was compiled for calls is compiled again with the next ones: so this is not done in every
 * pause.
 */
export function releaseMemoryWhenIdle(
  activity: () => Activity,
  {
    idleMs = IDLE_MS,
    idleAfterWorkMs = IDLE_AFTER_WORK_MS,
    againMs = AGAIN_MS,
    collect = collectAll,
  }: IdleMemoryOptions = {},
): { stop(): void } {
  const { done: atStart } = activity()
  let done = atStart
  let lastWorkMs = performance.now()
  let heldBytes = 0
  let notBeforeMs = 0
  const check = () => {
    const now = activity()
    const nowMs = performance.now()
    if (now.underWay > 0 || now.done !== done) lastWorkMs = nowMs
    done = now.done
    const isIdle = nowMs - lastWorkMs >= (done === atStart ? idleMs : idleAfterWorkMs)
    if (!isIdle || nowMs < notBeforeMs) return
    if (process.memoryUsage().heapTotal < heldBytes * WORTH) return
    collect()
    heldBytes = process.memoryUsage().heapTotal
    notBeforeMs = performance.now() + againMs
  }
  const timer = setInterval(check, idleMs / 5).unref()
  return { stop: () => clearInterval(timer) }
}

type CollectGarbage = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

/** As V8 does before it would run out of memory: only then it also shrinks the space of new objects. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const gc: CollectGarbage = runInNewContext('gc')
  // Code that is loaded from now on would otherwise be kept, and looked for, as code for other flags.
  setFlagsFromString('--no-expose-gc')
  gc({ type: 'major', flavor: 'last-resort' })
}
