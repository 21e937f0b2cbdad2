import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a process has done so far, and what it is doing. */
export interface Activity {
  /** Tasks under way. */
  readonly underWay: number
  /** A count that rises with each task that ends. */
  readonly done: number
}

export interface IdleMemoryOptions {
  /** A process is idle that did nothing for this long. */
  readonly idleMs?: number
  /** How long it keeps what it takes again, at least. */
  readonly againMs?: number
}

const IDLE_MS = 5_000
const AGAIN_MS = 600_000
/** Less than this is not worth the pause: a share of what the heap held after the last collection. */
const WORTH = 1.5

/**
 * Gives memory back to the system while a process is idle. V8 collects only where something is allocated: what a start or
 * a burst of calls left behind would stay for hours, a quarter of the process. It stands still meanwhile, for 0.1 s of
 * CPU, so that this happens once and then seldom.
 */
export function releaseMemoryWhenIdle(
  activity: () => Activity,
  { idleMs = IDLE_MS, againMs = AGAIN_MS }: IdleMemoryOptions = {},
): { stop(): void } {
  let { done } = activity()
  let heldBytes = 0
  let notBeforeMs = 0
  const check = () => {
    const now = activity()
    const isIdle = now.underWay === 0 && now.done === done
    done = now.done
    if (!isIdle || performance.now() < notBeforeMs) return
    if (process.memoryUsage().heapTotal < heldBytes * WORTH) return
    collectAll()
    heldBytes = process.memoryUsage().heapTotal
    notBeforeMs = performance.now() + againMs
  }
  const timer = setInterval(check, idleMs).unref()
  return { stop: () => clearInterval(timer) }
}

type Collect = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

/** As V8 does before it would run out of memory: only then it also shrinks the space of new objects. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const collect: Collect = runInNewContext('gc')
  collect({ type: 'major', flavor: 'last-resort' })
}
