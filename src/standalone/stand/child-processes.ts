import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** The processes that this one's main thread started and that still run. Linux. */
export function childrenOf(parent: number): number[] {
  try {
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number).filter(isAlive)
  } catch {
    return [] // it is gone
  }
}

/** False also for one that ended and that its parent has not asked about yet. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const state = stat.charAt(stat.lastIndexOf(')') + 2) // after the name
    return state !== 'Z' && state !== 'X'
  } catch {
    return false // it is gone
  }
}

/** Waits until they have ended. Resolves with those that still run. */
export async function outliving(pids: readonly number[], limitMs: number): Promise<number[]> {
  const until = performance.now() + limitMs
  let living = pids.filter(isAlive)
  while (living.length > 0 && performance.now() < until) {
    await delay(5)
    living = living.filter(isAlive)
  }
  return living
}
