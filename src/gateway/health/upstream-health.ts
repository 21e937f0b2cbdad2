import type { CallObserver, UpstreamFailure } from '../../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import type { UpstreamReport } from '../../store/processes/process-report.ts'

const WINDOW_MS = 300_000
const PART_MS = 10_000

/** Calls and failures of ten seconds. */
interface WindowPart {
  readonly fromMs: number
  calls: number
  readonly failures: Map<UpstreamFailure, number>
}

interface UpstreamState {
  readonly parts: WindowPart[]
  failedInARow: number
  servedInARow: number
  refusesCredential: boolean
}

/** How calls to each upstream went in the last five minutes. A call costs one lookup, and no memory of its own. */
export class UpstreamHealth {
  readonly #now: () => number
  readonly #states = new Map<string, UpstreamState>()

  /** @param now Monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** `observer`, which then sees every call as before. */
  watch(observer: CallObserver): CallObserver {
    return {
      ...observer,
      callEnded: (record) => {
        this.#ended(record)
        observer.callEnded(record)
      },
      callUnmetered: (record) => {
        this.#ended(record)
        observer.callUnmetered(record)
      },
      upstreamFailed: (call, cause) => {
        this.#failed(call, cause)
        observer.upstreamFailed(call, cause)
      },
      attemptFailed: (call, reason) => {
        // Its record is of the attempt that ends the call.
        this.#partOf(this.#stateOf(call.upstream)).calls += 1
        observer.attemptFailed(call, reason)
      },
    }
  }

  /** What was is over: upstreams may have other addresses and keys. */
  reset(): void {
    this.#states.clear()
  }

  report(): UpstreamReport[] {
    return [...this.#states].flatMap(([upstream, state]) => {
      const { parts, failedInARow, servedInARow, refusesCredential } = state
      while ((parts[0]?.fromMs ?? Number.POSITIVE_INFINITY) <= this.#now() - WINDOW_MS) parts.shift()
      const calls = parts.reduce((sum, part) => sum + part.calls, 0)
      if (calls === 0 && !refusesCredential) return []
      const failures: Record<string, number> = {}
      for (const part of parts)
        for (const [cause, count] of part.failures) failures[cause] = (failures[cause] ?? 0) + count
      return [{ upstream, calls, failures, failedInARow, servedInARow, refusesCredential }]
    })
  }

  #ended({ upstream, status, outcome }: CallRecord): void {
    const state = this.#stateOf(upstream)
    this.#partOf(state).calls += 1
    if (outcome !== 'complete' || status === null || status >= 300) return
    state.servedInARow += 1
    state.failedInARow = 0
    state.refusesCredential = false
  }

  #failed({ upstream }: OpenCall, cause: UpstreamFailure): void {
    const state = this.#stateOf(upstream)
    const { failures } = this.#partOf(state)
    failures.set(cause, (failures.get(cause) ?? 0) + 1)
    state.failedInARow += 1
    state.servedInARow = 0
    if (cause === 'credential_refused') state.refusesCredential = true
  }

  #stateOf(upstream: string): UpstreamState {
    const known = this.#states.get(upstream)
    if (known !== undefined) return known
    const made = { parts: [], failedInARow: 0, servedInARow: 0, refusesCredential: false }
    this.#states.set(upstream, made)
    return made
  }

  #partOf({ parts }: UpstreamState): WindowPart {
    const nowMs = this.#now()
    const last = parts.at(-1)
    if (last !== undefined && nowMs - last.fromMs < PART_MS) return last
    const made = { fromMs: nowMs, calls: 0, failures: new Map<UpstreamFailure, number>() }
    parts.push(made)
    if (parts.length > WINDOW_MS / PART_MS) parts.shift()
    return made
  }
}
