import { Calls } from './calls.ts'
import { DatabaseModel, type Effects, type Totals } from './database.ts'
import type { Packet } from './faults/adoption.ts'
import type { Random } from './faults/random.ts'
import type { Rule } from './faults/rules.ts'
import { GatewayModel } from './gateway.ts'
import { garble } from './journal/garbling.ts'
import type { JournalModel } from './journal/journal.ts'
import { StreamModel } from './stream.ts'
import { WorkerModel } from './worker.ts'

/** `JOURNAL_KEEP_SECONDS`. */
export const KEEP_MS = 300_000

const WORKERS = 2

/** One host of gateways, Redis, Postgres, workers, and a clock that only steps move. */
export class World {
  readonly calls = new Calls()
  readonly database = new DatabaseModel()
  readonly stream = new StreamModel()
  readonly journals: JournalModel[] = []
  network: Packet[] = []
  gateways: GatewayModel[] = []
  workers: WorkerModel[]
  nowMs = 0
  /** `STREAM_SHARDS` of gateways that start. */
  shards = 1
  /** The most that one of them had: so many streams are registered. */
  streams = 1
  readonly #without: Rule | null
  #gateways = 0

  constructor(without: Rule | null) {
    this.#without = without
    this.workers = Array.from({ length: WORKERS }, () => new WorkerModel(this))
    this.startGateway()
  }

  has(rule: Rule): boolean {
    return rule !== this.#without
  }

  /** Whether every record of every journal is at or under its committed offset. */
  get isSettled(): boolean {
    return this.journals.every(
      ({ state, producer, last, open }) =>
        state !== 'there' || (open.size === 0 && this.database.committedOffsetOf(producer) >= last),
    )
  }

  startGateway(isOld = false): GatewayModel {
    this.streams = Math.max(this.streams, this.shards)
    const gateway = new GatewayModel(this, ++this.#gateways, isOld ? 1 : this.shards, isOld)
    this.gateways.push(gateway)
    return gateway
  }

  kill(gateway: GatewayModel, isWriting = false): void {
    gateway.die(isWriting)
    this.gateways = this.gateways.filter((other) => other !== gateway)
  }

  commit(effects: Effects): void {
    this.database.commit(effects, this.nowMs)
    this.calls.checkTotals(this.database.totals)
  }

  pass(ms: number): void {
    this.nowMs += ms
    this.database.endIdle(this.nowMs)
  }

  /** Redis does the first `done` commands of a packet, and answers or not. */
  deliver(packet: Packet, done: number, answers: boolean): void {
    this.network = this.network.filter((other) => other !== packet)
    const ids = packet.entries.slice(0, done).map((entry) => this.stream.add(entry))
    if (packet.owned?.inFlight !== packet) return
    if (answers) packet.owned.answered({ ...packet, entries: packet.entries.slice(0, done) }, ids)
    else packet.owned.giveUp()
  }

  /** Redis loses entries. */
  loseEntries(change: () => void): void {
    change()
    this.calls.entriesLost(this.#lostJournals(), this.database.totals, this.stream)
  }

  /** Postgres is restored to one of its past states. */
  regress(index: number): void {
    const { database, nowMs } = this
    const target = database.past[index]
    if (target === undefined) return
    const before = database.totals
    database.regress(index)
    for (const { ownedJournals } of this.gateways)
      for (const owned of ownedJournals)
        if (regressed(owned.journal.producer, before, target.totals)) owned.unseenMs = nowMs
    this.calls.regressed(before, database, this.journals, target.untilMs <= nowMs - KEEP_MS, nowMs)
    this.calls.entriesLost(this.#lostJournals(), database.totals, this.stream)
  }

  /** All gateways die and what was not synced is gone, more or less. */
  powerLoss(random: Random): void {
    for (const gateway of this.gateways) this.kill(gateway)
    for (const journal of this.journals)
      if (journal.state === 'there') this.calls.cut(journal, journal.losePower(random))
  }

  /** A disk garbles what it had synced of a journal, or loses a segment. Its owner is not there to see it. */
  garble(journal: JournalModel, random: Random, whole: boolean): void {
    if (journal.state !== 'there') return
    this.#killOwner(journal)
    const garbling = garble(journal, random, whole)
    if (garbling === null) return
    this.calls.garbled(garbling)
    if (!journal.isReadable) this.loseJournal(journal)
  }

  loseJournal(journal: JournalModel): void {
    this.#killOwner(journal)
    journal.state = 'lost'
    this.calls.journalLost(journal, this.database.totals, this.stream)
  }

  #killOwner(journal: JournalModel): void {
    const owner = this.gateways.find(({ id }) => id === journal.owner)
    if (owner !== undefined) this.kill(owner)
  }

  #lostJournals(): ReadonlySet<string> {
    return new Set(this.journals.filter(({ state }) => state === 'lost').map(({ producer }) => producer))
  }
}

function regressed(producer: string, before: Totals, after: Totals): boolean {
  if (before.committedOffsets.get(producer) !== after.committedOffsets.get(producer)) return true
  const gaps = (totals: Totals) => totals.gaps.filter((gap) => gap.producer === producer)
  return JSON.stringify(gaps(before)) !== JSON.stringify(gaps(after))
}
