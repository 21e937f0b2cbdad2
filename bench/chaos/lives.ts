import type { CallTrace } from '../../src/standalone/prove/load.ts'
import type { Gateway } from './gateway.ts'

/** A gateway's process that was there at one check and not at the next, in milliseconds of this process's clock. */
export interface Death {
  readonly gateway: string
  readonly seenMs: number
  readonly missedMs: number
}

const CHECK_EVERY_MS = 100

/** Records when processes of gateways end, however they do. */
export function watchProcesses(gateways: readonly Gateway[]): {
  readonly deaths: readonly Death[]
  stop(): void
} {
  const deaths: Death[] = []
  const alive = new Map<Gateway, ReadonlySet<number>>(
    gateways.map((gateway) => [gateway, new Set(gateway.pids)]),
  )
  let checkedMs = performance.now()
  const checking = setInterval(() => {
    const nowMs = performance.now()
    for (const gateway of gateways) {
      const pids = new Set(gateway.pids)
      const gone = (alive.get(gateway) ?? new Set()).difference(pids)
      for (const _pid of gone) deaths.push({ gateway: gateway.name, seenMs: checkedMs, missedMs: nowMs })
      alive.set(gateway, pids)
    }
    checkedMs = nowMs
  }, CHECK_EVERY_MS)
  return { deaths, stop: () => clearInterval(checking) }
}

/** This process may be late to see a connection, or a process, end. */
const LATE_MS = 2_000
/** What a client left may go on for. */
const LEFT_MS = 10_000

/** Whether the call was under way at its gateway as a process of that ended. */
export function isUnder({ gateway, answer, beganMs, endedMs }: CallTrace, death: Death): boolean {
  const goesOnMs = answer === 'left' ? LEFT_MS : LATE_MS
  return death.gateway === gateway && death.missedMs >= beganMs && death.seenMs <= endedMs + goesOnMs
}
