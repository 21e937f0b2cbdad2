import { shardOf } from '../../src/ledger/own-producers.ts'
import { OwnedJournal } from './faults/adoption.ts'
import { JournalModel } from './journal/journal.ts'
import { producerOf } from './stream.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

/** Whose calls there are. */
const CLIENTS = 5

/** A gateway process: its own producers, one a shard, those it has adopted, and one reading of committed offsets at a time. */
export class GatewayModel {
  readonly id: number
  ownedJournals: OwnedJournal[]
  readonly #world: World
  /** Of the release before: it adopts nothing. */
  readonly isOld: boolean
  /** Its own, in the order of their shards. */
  readonly #own: readonly OwnedJournal[]
  #reading: ReadonlyMap<OwnedJournal, number> | null = null
  /** The committed offsets of producers whose folders are gone, as they were when they were asked for. */
  #checkedAt: ReadonlyMap<JournalModel, number> | null = null
  /** Retired producers to be written after their folders went. */
  #unwritten: readonly JournalModel[] = []

  /** @param isOld it is of the release before, and adopts nothing. */
  constructor(world: World, id: number, shards: number, isOld: boolean) {
    this.id = id
    this.#world = world
    this.isOld = isOld
    this.#own = Array.from({ length: shards }, (_, shard) => {
      const journal = new JournalModel(producerOf(id, shard), (rule) => world.has(rule), isOld)
      journal.owner = id
      world.journals.push(journal)
      return new OwnedJournal(world, journal, true, 0)
    })
    this.ownedJournals = [...this.#own]
  }

  /** Its own calls under way. */
  under: readonly number[] = []

  open(): void {
    const call = this.#journalOf(this.#world.calls.next)?.open()
    if (call !== undefined) this.under = [...this.under, call]
  }

  close(call: number): void {
    this.under = this.under.filter((other) => other !== call)
    this.#journalOf(call)?.close(call)
  }

  /** The own journal of the call's client. */
  #journalOf(call: number): OwnedJournal | undefined {
    return this.#own[shardOf(`client-${call % CLIENTS}`, this.#own.length)]
  }

  /** Asks Postgres for the committed offsets, or has the answer, which may be old by now. */
  readCommittedOffsets(): void {
    if (this.#reading === null) {
      const { database } = this.#world
      this.#reading = new Map(
        this.ownedJournals.map((owned) => [owned, database.committedOffsetOf(owned.journal.producer)]),
      )
      return
    }
    for (const [owned, committedOffset] of this.#reading) owned.learn(committedOffset)
    this.#reading = null
  }

  /** What reads committed offsets itself waits for the reading under way. */
  finishReading(): void {
    if (this.#reading !== null) this.readCommittedOffsets()
  }

  /** Takes over a dead producer's journal, if its lock is free. */
  adopt(journal: JournalModel): void {
    const { calls, database, stream } = this.#world
    if (this.isOld) return
    const isFree = journal.owner === null || !this.#world.has('adoptionLock')
    if (journal.state !== 'there' || !isFree || this.ownedJournals.some((owned) => owned.journal === journal))
      return
    const committedOffset = database.committedOffsetOf(journal.producer)
    journal.recover()
    if (journal.isDamaged && !journal.isGarbled)
      throw new Violation(`the journal of ${journal.producer} is sound and taken for damaged`)
    if (journal.last === journal.prunedTo && journal.open.size === 0 && committedOffset === journal.last) {
      this.#finish(journal)
      return
    }
    if (committedOffset > journal.last) {
      if (!journal.isGarbled)
        throw new Violation(`the journal of ${journal.producer} is behind its committed offset`)
      journal.state = 'lost'
      calls.journalLost(journal, database.totals, stream)
      return
    }
    journal.owner = this.id
    this.ownedJournals.push(new OwnedJournal(this.#world, journal, false, committedOffset))
  }

  /** Deletes the folders of adopted journals of which nothing is needed. */
  release(): void {
    for (const owned of this.ownedJournals.filter(({ isOwn, isEmpty }) => !isOwn && isEmpty)) {
      this.#finish(owned.journal)
      this.releaseJournal(owned)
    }
  }

  #finish(journal: JournalModel): void {
    if (this.#world.has('retiredProducerFirst')) journal.retired = journal.last
    else this.#unwritten = [...this.#unwritten, journal]
    journal.state = 'finished'
  }

  /** Asks for the committed offsets of producers whose folders are gone, or sends a gap marker for what they lack. */
  checkRetiredProducers(): void {
    const { database, journals, network } = this.#world
    if (!this.#world.has('retiredProducers')) return
    for (const journal of this.#unwritten) journal.retired = journal.last
    this.#unwritten = []
    if (this.#checkedAt === null) {
      const gone = journals.filter(({ state, retired }) => state === 'finished' && retired > 0)
      this.#checkedAt = new Map(
        gone.map((journal) => [journal, database.committedOffsetOf(journal.producer)]),
      )
      return
    }
    for (const [{ producer, retired: to }, committedOffset] of this.#checkedAt) {
      const from = committedOffset + 1
      const entry = { producer, from, to, gapReason: 'journal_pruned', call: null, complete: false }
      if (committedOffset < to) network.push({ owned: null, entries: [entry], again: false })
    }
    this.#checkedAt = null
  }

  releaseJournal(owned: OwnedJournal): void {
    owned.journal.owner = null
    this.ownedJournals = this.ownedJournals.filter((other) => other !== owned)
  }

  /** Ends in order: of its own journals nothing may be needed any more. */
  stop(): void {
    for (const own of this.#own) if (own.isEmpty) this.#finish(own.journal)
    this.#world.kill(this)
  }

  /**
   * Its memory is gone; what it sent may still arrive.
   *
   * @param isWriting what it was just writing to its journals is torn.
   */
  die(isWriting: boolean): void {
    for (const { journal } of this.ownedJournals) {
      if (journal.owner === this.id) journal.owner = null
      if (isWriting) journal.tear()
    }
    this.ownedJournals = []
    this.under = []
    this.#unwritten = []
    this.#checkedAt = null
  }
}
