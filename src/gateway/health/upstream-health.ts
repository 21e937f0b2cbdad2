import type { CallObserver, UpstreamFailure } from '../../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import { FAILED_IN_A_ROW, type UpstreamReport } from '../../store/processes/process-report.ts'

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
  /** The cause of the last failure, and how many in a row had it. */
  lastCause: UpstreamFailure | null
  alikeInARow: number
  refusesCredential: boolean
  /** Since when calls fail, until enough in a row succeeded; `null`: none does. */
  failsSinceMs: number | null
  /** Whose calls these are; `null`: several clients'. */
  failedClient: string | null
  /** The client that was served last, and when another one was. */
  servedClient: string
  servedAtMs: number
  otherServedAtMs: number
}

/** The circuits of upstreams that routes lead to: see `Circuits.report`. */
export interface OpenCircuits {
  report(): ReadonlyMap<string, 'open' | 'half_open'>
}

/** So many calls in a row that succeed end a trouble. */
const ENOUGH_SERVED = 5
/** A client's failures are its own while others were served within this time. */
const OTHERS_MS = 60_000

/**
 * How calls to each upstream went in the last five minutes, and whether it is one client alone whose calls fail: what a
 * client sends can make an upstream answer with an error. A call costs one lookup, and no memory of its own.
 */
export class UpstreamHealth {
  readonly #now: () => number
  readonly #states = new Map<string, UpstreamState>()
  readonly #circuits: OpenCircuits

  /** @param now Monotonic milliseconds. */
  constructor(circuits: OpenCircuits, now: () => number = () => performance.now()) {
    this.#circuits = circuits
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
        partOf(this.#stateOf(call.upstream), this.#now()).calls += 1
        observer.attemptFailed(call, reason)
      },
    }
  }

  /** What was is over: upstreams may have other addresses and keys. */
  reset(): void {
    this.#states.clear()
  }

  /** How many upstreams refuse the gateway's key, but for those that serve others than one client. */
  refusing(): number {
    const nowMs = this.#now()
    const states = [...this.#states.values()]
    return states.filter((state) => state.refusesCredential && !servedOthers(state, nowMs)).length
  }

  report(): UpstreamReport[] {
    const nowMs = this.#now()
    const circuits = this.#circuits.report()
    for (const upstream of circuits.keys()) this.#stateOf(upstream)
    return [...this.#states].flatMap(([upstream, state]) => {
      const { parts, failedInARow, servedInARow, lastCause, alikeInARow, refusesCredential } = state
      while ((parts[0]?.fromMs ?? Number.POSITIVE_INFINITY) <= nowMs - WINDOW_MS) parts.shift()
      const calls = parts.reduce((sum, part) => sum + part.calls, 0)
      const circuit = circuits.get(upstream) ?? 'closed'
      if (calls === 0 && !refusesCredential && circuit === 'closed') return []
      const failures: Record<string, number> = {}
      for (const part of parts)
        for (const [cause, count] of part.failures) failures[cause] = (failures[cause] ?? 0) + count
      const failedClient = state.failsSinceMs === null ? null : state.failedClient
      const othersServed = servedOthers(state, nowMs)
      return [
        {
          upstream,
          calls,
          failures,
          failedInARow,
          servedInARow,
          causeInARow: Math.min(failedInARow, alikeInARow) < FAILED_IN_A_ROW ? null : lastCause,
          refusesCredential,
          failedClient,
          othersServed,
          circuit,
        },
      ]
    })
  }

  #ended({ upstream, clientId, status, outcome }: CallRecord): void {
    const state = this.#stateOf(upstream)
    const nowMs = this.#now()
    partOf(state, nowMs).calls += 1
    if (outcome !== 'complete' || status === null || status >= 300) return
    state.servedInARow += 1
    state.failedInARow = 0
    state.refusesCredential = false
    if (state.servedInARow >= ENOUGH_SERVED) state.failsSinceMs = null
    if (clientId !== state.servedClient) {
      state.otherServedAtMs = state.servedAtMs
      state.servedClient = clientId
    }
    state.servedAtMs = nowMs
  }

  #failed({ upstream, clientId }: OpenCall, cause: UpstreamFailure): void {
    const state = this.#stateOf(upstream)
    const nowMs = this.#now()
    const { failures } = partOf(state, nowMs)
    failures.set(cause, (failures.get(cause) ?? 0) + 1)
    state.alikeInARow = state.failedInARow > 0 && cause === state.lastCause ? state.alikeInARow + 1 : 1
    state.lastCause = cause
    state.failedInARow += 1
    state.servedInARow = 0
    if (cause === 'credential_refused') state.refusesCredential = true
    if (state.failsSinceMs === null) {
      state.failsSinceMs = nowMs
      state.failedClient = clientId
    } else if (state.failedClient !== clientId) state.failedClient = null
  }

  #stateOf(upstream: string): UpstreamState {
    const known = this.#states.get(upstream)
    if (known !== undefined) return known
    const made: UpstreamState = {
      parts: [],
      failedInARow: 0,
      servedInARow: 0,
      lastCause: null,
      alikeInARow: 0,
      refusesCredential: false,
      failsSinceMs: null,
      failedClient: null,
      servedClient: '',
      servedAtMs: Number.NEGATIVE_INFINITY,
      otherServedAtMs: Number.NEGATIVE_INFINITY,
    }
    this.#states.set(upstream, made)
    return made
  }
}

/**
 * Tells whether others than the one client whose calls fail are served. A refused credential was fine a moment before:
 * there only those count that came behind the refusal.
 */
function servedOthers(state: UpstreamState, nowMs: number): boolean {
  const { failsSinceMs, failedClient, servedClient, servedAtMs, otherServedAtMs } = state
  if (failsSinceMs === null || failedClient === null) return false
  const atMs = servedClient === failedClient ? otherServedAtMs : servedAtMs
  return state.refusesCredential ? atMs > failsSinceMs : atMs > nowMs - OTHERS_MS
}

function partOf({ parts }: UpstreamState, nowMs: number): WindowPart {
  const last = parts.at(-1)
  if (last !== undefined && nowMs - last.fromMs < PART_MS) return last
  const made = { fromMs: nowMs, calls: 0, failures: new Map<UpstreamFailure, number>() }
  parts.push(made)
  if (parts.length > WINDOW_MS / PART_MS) parts.shift()
  return made
}
