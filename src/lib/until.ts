import { setTimeout as delay } from 'node:timers/promises'

/**
 * Asks again and again until there is an answer.
 *
 * @param ask gives the answer, or null for "not yet"; what it throws ends the waiting
 * @returns the first answer, or null when `timeoutMs` passed without one
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
