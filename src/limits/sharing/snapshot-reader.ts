import type { BudgetAccount } from '../engine/budget-account.ts'
import type { SubjectEntry } from '../engine/subject-entry.ts'
import type { BudgetToRead, ReadSpent } from './limit-store.ts'
import type { SharedSnapshot } from './spent-snapshots.ts'

/** One statement reads at most so many budgets. */
const MAX_BUDGETS = 500
/** A budget that is nearly spent, or has jobs whose cost may be known now, is read this often, others more seldom, those that are new in between. */
const NEAR_MS = 2_000
const OFTEN_MS = 3_000
const SELDOM_MS = 30_000
/** With more records than these to remember, it is read soon. */
const MANY_RECORDS = 10_000
/** No two readings of a subject are close; and a Postgres that is away is left alone for a while. */
const SPACING_MS = 250
const AFTER_FAILURE_MS = 1_000

/** Reads what Postgres has of budgets: many subjects in one statement, one statement at a time. */
export class SnapshotReader {
  readonly #readSpent: ReadSpent
  readonly #gatewayId: string
  readonly #now: () => number
  readonly #onRead: (entry: SubjectEntry, read: Omit<SharedSnapshot, 'number'> | null) => void
  readonly #due = new Set<SubjectEntry>()
  #isReading = false
  #reads = 0

  /** @param onRead With `null`: Postgres is away. */
  constructor(
    readSpent: ReadSpent,
    gatewayId: string,
    now: () => number,
    onRead: (entry: SubjectEntry, read: Omit<SharedSnapshot, 'number'> | null) => void,
  ) {
    this.#readSpent = readSpent
    this.#gatewayId = gatewayId
    this.#now = now
    this.#onRead = onRead
  }

  request(entry: SubjectEntry): void {
    entry.isReading = true
    entry.readAtMs = this.#now()
    this.#due.add(entry)
    if (!this.#isReading) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isReading = true
    while (this.#due.size > 0) await this.#readSome()
    this.#isReading = false
  }

  async #readSome(): Promise<void> {
    const entries: SubjectEntry[] = []
    const accounts: BudgetAccount[][] = []
    const budgets: BudgetToRead[] = []
    const producers = new Set<string>()
    for (const entry of this.#due) {
      if (budgets.length >= MAX_BUDGETS) break
      this.#due.delete(entry)
      const { subject } = entry
      entries.push(entry)
      accounts.push([...subject.accounts.values()])
      for (const { limit, fromDay, toDay } of subject.accounts.values()) {
        const { keyId, formerKeys, model } = limit
        const { clientId, groupId, axis, value } = subject.subject
        budgets.push({ clientId, groupId, axis, value, keyId, formerKeys, model, fromDay, toDay })
      }
      for (const producer of producersOf(entry)) producers.add(producer)
    }
    const takenAt = entries.map(({ exchange }) => exchange.redisNowMs)
    try {
      const { spentPico, jobsPico, committedOffsets } = await this.#readSpent(budgets, [...producers])
      let at = 0
      for (const [index, entry] of entries.entries()) {
        const spent = new Map<string, bigint>()
        const jobs = new Map<string, bigint>()
        for (const { key } of accounts[index] ?? []) {
          spent.set(key, spentPico[at] ?? 0n)
          const waiting = jobsPico[at++] ?? 0n
          if (waiting > 0n) jobs.set(key, waiting)
        }
        this.#reads += 1
        const id = `${this.#gatewayId}${this.#reads.toString(36)}`
        const offsets = offsetsOf(entry, committedOffsets)
        this.#end(entry, { id, takenAtMs: takenAt[index] ?? 0, spent, jobs, offsets })
      }
    } catch {
      for (const entry of entries) this.#end(entry, null)
    }
  }

  #end(entry: SubjectEntry, read: Omit<SharedSnapshot, 'number'> | null): void {
    entry.isReading = false
    if (read === null) entry.readFailedAtMs = this.#now()
    this.#onRead(entry, read)
  }
}

/** A producer that Postgres does not know yet has committed nothing. */
function offsetsOf(entry: SubjectEntry, committed: ReadonlyMap<string, number>): Map<string, number> {
  return new Map(producersOf(entry).map((producer) => [producer, committed.get(producer) ?? 0]))
}

/** All that number records of the subject's calls. */
function producersOf({ subject }: SubjectEntry): readonly string[] {
  return [...subject.producers, ...subject.gateways.others.flatMap(({ field }) => field.producers)]
}

/**
 * Whether a subject's budgets are to be read again: sooner near their end, and first by the gateway whose id comes
 * first, so that not all of them do.
 */
export function isReadingDue(entry: SubjectEntry, gatewayId: string, nowMs: number): boolean {
  const { subject } = entry
  if (subject.accounts.size === 0 || entry.isReading) return false
  if (nowMs - entry.readAtMs < SPACING_MS || nowMs - entry.readFailedAtMs < AFTER_FAILURE_MS) return false
  const newest = subject.snapshots[subject.snapshots.length - 1]
  let intervalMs = SELDOM_MS
  for (const account of subject.accounts.values()) {
    if (newest === undefined || !newest.spent.has(account.key)) return true
    if (!account.counted.has(newest.id)) return true
    if (account.costs.size > MANY_RECORDS) intervalMs = Math.min(intervalMs, NEAR_MS)
    if (account.view?.isExact !== true || subject.snapshots.length > 1)
      intervalMs = Math.min(intervalMs, OFTEN_MS)
    else if (isNearlySpent(account) || account.jobsReserved > 0n) intervalMs = NEAR_MS
  }
  const hasReason = entry.usedAtMs > subject.snapshotAtMs - intervalMs || subject.hasUncounted
  if (!hasReason) return false
  let rank = 0
  for (const { id, reportedAtMs } of subject.gateways.others)
    if (id < gatewayId && nowMs - reportedAtMs < OFTEN_MS) rank += 1
  return nowMs - subject.snapshotAtMs >= intervalMs * (1 + rank / 2)
}

function isNearlySpent({ amount, charged, reserved }: BudgetAccount): boolean {
  return charged === null || (charged + reserved) * 100n >= amount * 80n
}
