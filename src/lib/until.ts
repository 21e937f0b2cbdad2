import { setTimeout as delay } from 'node:timers/promises'

/**
 * Polls until there is an answer.
 * @param ask Returns the answer, or null for "not yet". What it throws ends the polling.
 * @returns The first answer, or null when `timeoutMs` passed without one.
 */
export async function until<T>(
  ask: () => T | null | Promise<T | null>,
  { timeoutMs, everyMs = 25 }: { readonly timeoutMs: number; readonly everyMs?: number },
): Promise<T | null> {
  const deadline = performance.now() + timeoutMs
  while (true) {
    const answer = await ask()
    if (answer !== null) return answer
    if (performance.now() >= deadline) return null
    await delay(everyMs)
  }
}
