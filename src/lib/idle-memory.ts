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
  /** A burst is over when few tasks were under way for this long. */
  readonly afterBurstMs?: number
  /** How long it keeps what it takes again, at least. */
  readonly againMs?: number
  /** Collects garbage; `last-resort`: compiled code too. */
  readonly collect?: (flavor: Flavor) => void
}

type Flavor = 'regular' | 'last-resort'

const IDLE_MS = 5_000
const IDLE_AFTER_WORK_MS = 60_000
const AFTER_BURST_MS = 20_000
const AGAIN_MS = 600_000
/** Less than this is not worth the pause: a share of what was held after the last collection. */
const WORTH = 1.5
/** So many tasks at once are a burst, which is over with a tenth of its most. */
const BURST = 50
const OVER = 0.1

/**
 * Gives memory back to the system while a process is idle. V8 collects only where something is allocated: what a
 * start or a burst of calls left behind would stay for hours, a third of the process. It stands still meanwhile, for
 * 0.1 s of CPU, and what was compiled for calls is compiled again with the next ones: so this is not done in every
 * pause. A burst leaves the most, so what it left is collected while a few calls go
 * on, too: as a last resort as seldom, in between without the code.
 */
export function releaseMemoryWhenIdle(
  activity: () => Activity,
  {
    idleMs = IDLE_MS,
    idleAfterWorkMs = IDLE_AFTER_WORK_MS,
    afterBurstMs = AFTER_BURST_MS,
    againMs = AGAIN_MS,
    collect = collectGarbage,
  }: IdleMemoryOptions = {},
): { stop(): void } {
  const { done: atStart } = activity()
  let done = atStart
  let lastWorkMs = performance.now()
  let lastCrowdMs = lastWorkMs
  let mostUnderWay = 0
  let keptBytes = 0
  let notBeforeMs = 0
  const collectAs = (flavor: Flavor) => {
    mostUnderWay = 0
    if (heldBytes() < keptBytes * WORTH) return
    collect(flavor)
    keptBytes = heldBytes()
    if (flavor === 'last-resort') notBeforeMs = performance.now() + againMs
  }
  const check = () => {
    const now = activity()
    const nowMs = performance.now()
    if (now.underWay > 0 || now.done !== done) lastWorkMs = nowMs
    done = now.done
    mostUnderWay = Math.max(mostUnderWay, now.underWay)
    if (now.underWay > mostUnderWay * OVER) lastCrowdMs = nowMs
    const isIdle = nowMs - lastWorkMs >= (done === atStart ? idleMs : idleAfterWorkMs)
    if (isIdle && nowMs >= notBeforeMs) collectAs('last-resort')
    else if (mostUnderWay >= BURST && nowMs - lastCrowdMs >= afterBurstMs)
      collectAs(nowMs >= notBeforeMs ? 'last-resort' : 'regular')
  }
  const timer = setInterval(check, idleMs / 5).unref()
  return { stop: () => clearInterval(timer) }
}

/** By V8, and what its objects hold outside of its heap: bodies, and structures of sockets. */
function heldBytes(): number {
  const { heapTotal, external } = process.memoryUsage()
  return heapTotal + external
}

type CollectGarbage = (options: { readonly type: 'major'; readonly flavor: Flavor }) => void

/** As a last resort, what V8 does before it would run out of memory, it also shrinks the space of new objects. */
function collectGarbage(flavor: Flavor): void {
  setFlagsFromString('--expose-gc')
  const gc: CollectGarbage = runInNewContext('gc')
  // Code that is loaded from now on would otherwise be kept, and looked for, as code for other flags.
  setFlagsFromString('--no-expose-gc')
  gc({ type: 'major', flavor })
}
