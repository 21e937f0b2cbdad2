import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** The processes that this one started and that live. Reads /proc. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && stateOf(pid)?.parent === parent && isAlive(pid))
}

/** False also for one that ended and that its parent has not asked about yet. */
export function isAlive(pid: number): boolean {
  const state = stateOf(pid)
  return state !== null && state.letter !== 'Z' && state.letter !== 'X'
}

/** Waits until they have ended; those that live on are what it resolves with. */
export async function outliving(pids: readonly number[], limitMs: number): Promise<number[]> {
  const until = performance.now() + limitMs
  let living = pids.filter(isAlive)
  while (living.length > 0 && performance.now() < until) {
    await delay(5)
    living = living.filter(isAlive)
  }
  return living
}

function stateOf(pid: number): { readonly letter: string; readonly parent: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [letter = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { letter, parent: Number(parent) }
  } catch {
    return null // it is gone
  }
}
