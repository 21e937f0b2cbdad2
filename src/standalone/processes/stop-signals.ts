/** The user's request to stop. */
export interface StopWish {
  /** Aborted at the first request. */
  readonly signal: AbortSignal
  /** Resolves then. */
  readonly wanted: Promise<void>
  /** Called when it is repeated. */
  onSecond(listener: () => void): void
}

/** A Ctrl-C arrives twice, from the terminal and from npm: signals within this time are one request. */
const SAME_WISH_MS = 1_000
const PARENT_CHECK_MS = 250

/**
 * Listens for Ctrl-C, SIGTERM and the end of the terminal. Where npm started us it also watches npm: a killed
 * npm passes nothing on, and this process would go on unseen.
 */
export function listenForStop(): StopWish {
  const controller = new AbortController()
  const { promise: wanted, resolve } = Promise.withResolvers<void>()
  let again = () => {}
  let firstAtMs: number | null = null
  const wish = () => {
    if (firstAtMs === null) {
      firstAtMs = performance.now()
      controller.abort(new Error('asked to stop'))
      resolve()
    } else if (performance.now() - firstAtMs > SAME_WISH_MS) {
      again()
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, wish)
  if (process.env.npm_lifecycle_event !== undefined) onParentGone(wish)
  return {
    signal: controller.signal,
    wanted,
    onSecond(listener) {
      again = listener
    },
  }
}

function onParentGone(listener: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    listener()
  }, PARENT_CHECK_MS)
  timer.unref()
}
