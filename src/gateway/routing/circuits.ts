/** So many failures in a row open a circuit. */
const FAILURES_IN_A_ROW = 5
/** Where no connection comes about, fewer tell: nothing that a client sends has a part in it. */
const CONNECTS_IN_A_ROW = 3
/** Failures further apart than this are not in a row. */
const ROW_MS = 60_000
/** An open circuit lets a call through after this, then after twice as long each time that its connection fails. */
const FIRST_OPEN_MS = 10_000
const MAX_OPEN_MS = 120_000
/** A call that tries whether an upstream serves again is waited for so long. */
const TRIAL_MS = 60_000

/** `connect`: no connection came about. `answer`: there was one, and no good answer. */
export type FailureKind = 'connect' | 'answer'

/** The share of the last call in what is known of an upstream's health. */
const NEWEST_SHARE = 0.1
/** An upstream of which all calls fail counts as so many times slower. */
const FAILURE_WEIGHT = 20

interface Health {
  /** Until the first bytes of its answers. */
  tookMs: number
  /** The share of calls that fail, 0 to 1. */
  failing: number
}

function mixed(before: number, now: number): number {
  return before + NEWEST_SHARE * (now - before)
}

interface Circuit {
  /** Since the last call that was served: when, whose call, and how. */
  row: { readonly atMs: number; readonly clientId: string; readonly kind: FailureKind }[]
  /** Monotonic milliseconds; `null`: it is closed. */
  openUntilMs: number | null
  openForMs: number
  /** When the call began that tries it; `null`: none does. */
  triedAtMs: number | null
  /** Their own trials failed: the next one is another client's. */
  readonly failedTrials: Map<string, number>
}

/**
 * Which upstreams serve no call now, as far as calls by routes tell: one for a process. An open circuit takes an
 * upstream's targets to the end of the order, and refuses nothing. No client can open one alone: a body of its own may
 * be answered with 500 wherever it goes.
 */
export class Circuits {
  /** A route orders its targets by health: that of each upstream is kept. */
  keepsHealth = false
  readonly #now: () => number
  readonly #circuits = new Map<string, Circuit>()
  readonly #health = new Map<string, Health>()

  /** @param now Monotonic milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** No upstream failed since it served: each call may go anywhere. */
  get areClosed(): boolean {
    return this.#circuits.size === 0
  }

  /** Whether a call of this client may go there first: it serves, or this call finds out whether it does again. */
  isOpenTo(upstream: string, clientId: string): boolean {
    const circuit = this.#circuits.get(upstream)
    if (circuit === undefined || circuit.openUntilMs === null) return true
    const nowMs = this.#now()
    if (nowMs < circuit.openUntilMs) return false
    if (circuit.triedAtMs !== null && nowMs - circuit.triedAtMs < TRIAL_MS) return false
    const failedAtMs = circuit.failedTrials.get(clientId)
    return failedAtMs === undefined || nowMs - failedAtMs >= TRIAL_MS
  }

  /** A call goes there. */
  began(upstream: string): void {
    const circuit = this.#circuits.get(upstream)
    if (circuit === undefined || circuit.openUntilMs === null) return
    const nowMs = this.#now()
    if (nowMs >= circuit.openUntilMs) circuit.triedAtMs = nowMs
  }

  /**
   * It answered, whatever: the status of a refusal is an answer too.
   *
   * @param sinceMs When it was asked, monotonic milliseconds; its first bytes came now.
   */
  served(upstream: string, sinceMs: number): void {
    if (this.#circuits.size > 0) this.#circuits.delete(upstream)
    if (!this.keepsHealth) return
    const tookMs = this.#now() - sinceMs
    const known = this.#health.get(upstream)
    if (known === undefined) {
      this.#health.set(upstream, { tookMs, failing: 0 })
      return
    }
    known.tookMs = mixed(known.tookMs, tookMs)
    known.failing = mixed(known.failing, 0)
  }

  /** The lower, the sooner and the surer it answers; 0: nothing is known of it. */
  illnessOf(upstream: string): number {
    const known = this.#health.get(upstream)
    return known === undefined ? 0 : known.tookMs * (1 + FAILURE_WEIGHT * known.failing)
  }

  /** Nothing is known of how it would have ended: its client left. */
  untold(upstream: string): void {
    const circuit = this.#circuits.get(upstream)
    if (circuit !== undefined) circuit.triedAtMs = null
  }

  failed(upstream: string, clientId: string, kind: FailureKind): void {
    const nowMs = this.#now()
    const known = this.#health.get(upstream)
    if (known !== undefined) known.failing = mixed(known.failing, 1)
    const circuit = this.#circuits.get(upstream) ?? newCircuit()
    this.#circuits.set(upstream, circuit)
    if (circuit.openUntilMs !== null) {
      this.#failedAgain(circuit, clientId, kind, nowMs)
      return
    }
    circuit.row = circuit.row.filter(({ atMs }) => nowMs - atMs < ROW_MS).slice(1 - FAILURES_IN_A_ROW)
    circuit.row.push({ atMs: nowMs, clientId, kind })
    if (isOpenedBy(circuit.row)) circuit.openUntilMs = nowMs + circuit.openForMs
  }

  /** Upstreams whose circuits are open, and those of which a call tries whether they serve again. */
  report(): ReadonlyMap<string, 'open' | 'half_open'> {
    const nowMs = this.#now()
    return new Map(
      [...this.#circuits].flatMap(([upstream, { openUntilMs }]) =>
        openUntilMs === null ? [] : [[upstream, nowMs < openUntilMs ? 'open' : 'half_open'] as const],
      ),
    )
  }

  /** What was is over: upstreams may have other addresses. */
  reset(): void {
    this.#circuits.clear()
    this.#health.clear()
  }

  /** Of calls that began before it opened, nothing is new. */
  #failedAgain(circuit: Circuit, clientId: string, kind: FailureKind, nowMs: number): void {
    if (circuit.triedAtMs === null) return
    circuit.triedAtMs = null
    if (kind === 'connect') circuit.openForMs = Math.min(circuit.openForMs * 2, MAX_OPEN_MS)
    else circuit.failedTrials.set(clientId, nowMs)
    circuit.openUntilMs = nowMs + (kind === 'connect' ? circuit.openForMs : FIRST_OPEN_MS)
  }
}

function newCircuit(): Circuit {
  return {
    row: [],
    openUntilMs: null,
    openForMs: FIRST_OPEN_MS,
    triedAtMs: null,
    failedTrials: new Map(),
  }
}

function isOpenedBy(row: Circuit['row']): boolean {
  const connects = row.slice(-CONNECTS_IN_A_ROW)
  if (connects.length === CONNECTS_IN_A_ROW && connects.every(({ kind }) => kind === 'connect')) return true
  return row.length >= FAILURES_IN_A_ROW && new Set(row.map(({ clientId }) => clientId)).size > 1
}
