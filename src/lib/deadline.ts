/** Something did not answer in time. What it comes to later is ignored. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/**
 * `work`, or a rejection after `limitMs`. What `work` comes to later is ignored. An answer that has come while this
 * process was kept from running is in time: timers run before what has arrived is read.
 *
 * @param message of the `DeadlineError`.
 */
export async function withinDeadline<T>(work: Promise<T>, limitMs: number, message?: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const expire = () => reject(new DeadlineError(message ?? `no answer in ${limitMs} ms`))
  let turn: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    turn = setImmediate(expire)
  }, limitMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
    clearImmediate(turn)
  }
}

/** Waits for the end of `work`, however it ends, but for `limitMs` at most. */
export async function settledWithin(work: Promise<unknown>, limitMs: number): Promise<void> {
  await withinDeadline(work, limitMs).catch(() => {})
}

/** `work`, or a rejection once `signal` is aborted. What `work` comes to later is ignored. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
