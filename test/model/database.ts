import type { Gap } from '../../src/rollup/contiguous.ts'

/** What roll-ups have committed. */
export interface Totals {
  readonly committedOffsets: ReadonlyMap<string, number>
  /** By call: how often it was counted, and whether as a complete one. */
  readonly counted: ReadonlyMap<number, { readonly times: number; readonly complete: boolean }>
  readonly gaps: readonly (Gap & { readonly producer: string })[]
  /** How often what a job used was counted, of jobs that are claimed. */
  readonly jobs: ReadonlyMap<number, number>
}

/**
 * The job whose use a call's answer reports; `null`: none. Three calls report each job, as clients ask again,
 * and lists report what was fetched.
 */
export function jobReportedBy(call: number): number | null {
  return call % 3 === 2 ? Math.floor(call / 9) : null
}

export interface Effects {
  readonly counts: readonly { readonly call: number; readonly complete: boolean }[]
  readonly committedOffsets: ReadonlyMap<string, number>
  readonly replacedGaps: readonly string[]
  readonly newGaps: readonly (Gap & { readonly producer: string })[]
  /** Jobs whose use may be counted; `null`: those that are not claimed; `all`: every one that is reported. */
  readonly jobs: ReadonlySet<number> | 'all' | null
}

/** A transaction of one worker. */
export interface Session {
  ended: boolean
  usedMs: number
}

/** `idle_in_transaction_session_timeout`. */
const SESSION_IDLE_MS = 10_000
const RECORDED = new Date(0)

/** Postgres: transactions and locks; it may be restored to what it was. */
export class DatabaseModel {
  totals: Totals = { committedOffsets: new Map(), counted: new Map(), gaps: [], jobs: new Map() }
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
    const { committedOffsets, counted, gaps, jobs } = this.totals
    this.past = [...this.past, { totals: this.totals, untilMs: nowMs }]
    const sums = new Map(counted)
    for (const { call, complete } of effects.counts) {
      const before = sums.get(call)
      sums.set(call, { times: (before?.times ?? 0) + 1, complete: complete || before?.complete === true })
    }
    const used = new Map(jobs)
    for (const { call, complete } of effects.counts) {
      const job = complete ? jobReportedBy(call) : null
      if (job === null) continue
      const times = used.get(job)
      const counts =
        effects.jobs === null ? times === undefined : effects.jobs === 'all' || effects.jobs.has(job)
      // Once in this transaction, too.
      if (counts && (effects.jobs === 'all' || (times ?? 0) === (jobs.get(job) ?? 0)))
        used.set(job, (times ?? 0) + 1)
    }
    const kept = gaps.filter(({ id }) => id === null || !effects.replacedGaps.includes(id))
    const added = effects.newGaps.map((gap) => ({
      ...gap,
      id: `${++this.#gaps}`,
      recordedAt: gap.recordedAt ?? RECORDED,
    }))
    this.totals = {
      committedOffsets: new Map([...committedOffsets, ...effects.committedOffsets]),
      counted: sums,
      gaps: [...kept, ...added],
      jobs: used,
    }
  }

  /** Claims jobs in a transaction of its own. @returns Those that were not claimed. */
  claim(calls: Effects['counts'], nowMs: number): ReadonlySet<number> {
    const reported = calls.flatMap(({ call, complete }) => (complete ? (jobReportedBy(call) ?? []) : []))
    const fresh = new Set(reported.filter((job) => !this.totals.jobs.has(job)))
    this.past = [...this.past, { totals: this.totals, untilMs: nowMs }]
    const jobs = new Map([...this.totals.jobs, ...[...fresh].map((job) => [job, 0] as const)])
    this.totals = { ...this.totals, jobs }
    return fresh
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

  /** Is restored to `past[index]`; sessions do not survive it. */
  regress(index: number): void {
    const target = this.past[index]
    if (target === undefined) return
    for (const session of this.#sessions) this.end(session)
    this.past = this.past.slice(0, index)
    this.totals = target.totals
  }

  committedOffsetOf(producer: string): number {
    return this.totals.committedOffsets.get(producer) ?? 0
  }
}
