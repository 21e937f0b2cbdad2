/** Calls `then` after `ms`; returns how to call that off. */
export type CallLater = (ms: number, then: () => void) => () => void

/** By a timer that keeps no process alive. */
export const callLater: CallLater = (ms, then) => {
  const timer = setTimeout(then, ms).unref()
  return () => clearTimeout(timer)
}
