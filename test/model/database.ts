import type { Gap } from '../../workers/contiguous.ts'

/** What roll-ups have committed. */
export interface Totals {
  readonly marks: ReadonlyMap<string, number>
  /** By call: how often it was counted, and whether as a complete one. */
  readonly counted: ReadonlyMap<number, { readonly times: number; readonly complete: boolean }>
  readonly gaps: readonly (Gap & { readonly producer: string })[]
}

export interface Effects {
  readonly counts: readonly { readonly call: number; readonly complete: boolean }[]
  readonly marks: ReadonlyMap<string, number>
  readonly replacedGaps: readonly string[]
  readonly newGaps: readonly (Gap & { readonly producer: string })[]
}

/** A transaction of one worker. */
export interface Session {
  ended: boolean
  usedMs: number
}

/** `idle_in_transaction_session_timeout`. */
const SESSION_IDLE_MS = 10_000
const RECORDED = new Date(0)

/** Postgres: transactions and locks; it may go back to what it was. */
export class DatabaseModel {
  totals: Totals = { marks: new Map(), counted: new Map(), gaps: [] }
  /** What it was, and until when. */
  past: readonly { readonly totals: Totals; readonly untilMs: number }[] = []
  readonly #locks = new Map<string, Session>()
  readonly #sessions = new Set<Session>()
  #gaps = 0

  begin(nowMs: number): Session {
    const session = { ended: false, usedMs: nowMs }
    this.#sessions.add(session)
    return session
  }

  /** False: another session has it. */
  lock(session: Session, name: string): boolean {
    const holder = this.#locks.get(name)
    if (holder !== undefined && holder !== session) return false
    this.#locks.set(name, session)
    return true
  }

  commit(effects: Effects, nowMs: number): void {
    const { marks, counted, gaps } = this.totals
    this.past = [...this.past, { totals: this.totals, untilMs: nowMs }]
    const sums = new Map(counted)
    for (const { call, complete } of effects.counts) {
      const before = sums.get(call)
      sums.set(call, { times: (before?.times ?? 0) + 1, complete: complete || before?.complete === true })
    }
    const kept = gaps.filter(({ id }) => id === null || !effects.replacedGaps.includes(id))
    const added = effects.newGaps.map((gap) => ({
      ...gap,
      id: `${++this.#gaps}`,
      recordedAt: gap.recordedAt ?? RECORDED,
    }))
    this.totals = {
      marks: new Map([...marks, ...effects.marks]),
      counted: sums,
      gaps: [...kept, ...added],
    }
  }

  /** Ends a session, whatever its worker does, and frees its locks. */
  end(session: Session): void {
    session.ended = true
    this.#sessions.delete(session)
    for (const [name, holder] of this.#locks) if (holder === session) this.#locks.delete(name)
  }

  endIdle(nowMs: number): void {
    for (const session of this.#sessions) if (nowMs - session.usedMs >= SESSION_IDLE_MS) this.end(session)
  }

  /** Goes back to `past[index]`; sessions do not survive it. */
  goBack(index: number): void {
    const target = this.past[index]
    if (target === undefined) return
    for (const session of this.#sessions) this.end(session)
    this.past = this.past.slice(0, index)
    this.totals = target.totals
  }

  markOf(producer: string): number {
    return this.totals.marks.get(producer) ?? 0
  }
}
