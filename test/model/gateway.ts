import { Care } from './faults/adoption.ts'
import { JournalModel } from './journal.ts'
import { Violation } from './violation.ts'
import type { World } from './world.ts'

/** A gateway process: its own producer, those it has adopted, and one reading of marks at a time. */
export class GatewayModel {
  readonly id: number
  cares: Care[]
  readonly #world: World
  #reading: ReadonlyMap<Care, number> | null = null
  /** The marks of producers whose folders are gone, as they were when they were asked for. */
  #lookedUp: ReadonlyMap<JournalModel, number> | null = null
  /** Tombstones to be written after their folders went. */
  #unwritten: readonly JournalModel[] = []

  constructor(world: World, id: number) {
    this.id = id
    this.#world = world
    const journal = new JournalModel(`p${id}`)
    journal.owner = id
    world.journals.push(journal)
    this.cares = [new Care(world, journal, true, 0)]
  }

  /** Its own calls under way. */
  under: readonly number[] = []

  open(): void {
    const call = this.own?.open()
    if (call !== undefined) this.under = [...this.under, call]
  }

  close(call: number): void {
    this.under = this.under.filter((other) => other !== call)
    this.own?.close(call)
  }

  get own(): Care | undefined {
    return this.cares.find(({ isOwn }) => isOwn)
  }

  /** Asks Postgres for the marks, or has the answer, which may be old by now. */
  readMarks(): void {
    if (this.#reading === null) {
      const { database } = this.#world
      this.#reading = new Map(this.cares.map((care) => [care, database.markOf(care.journal.producer)]))
      return
    }
    for (const [care, mark] of this.#reading) care.learn(mark)
    this.#reading = null
  }

  /** What reads marks itself waits for the reading under way. */
  finishReading(): void {
    if (this.#reading !== null) this.readMarks()
  }

  /** Takes a dead producer's journal into care, if its lock is free. */
  adopt(journal: JournalModel): void {
    const { database } = this.#world
    const isFree = journal.owner === null || !this.#world.has('adoptionLock')
    if (journal.state !== 'there' || !isFree || this.cares.some((care) => care.journal === journal)) return
    const mark = database.markOf(journal.producer)
    if (journal.last === journal.prunedTo && journal.open.size === 0 && mark >= journal.last) {
      this.#finish(journal)
      return
    }
    if (mark > journal.last) throw new Violation(`the journal of ${journal.producer} is behind its mark`)
    journal.owner = this.id
    this.cares.push(new Care(this.#world, journal, false, mark))
  }

  /** Deletes the folders of adopted journals of which nothing is needed. */
  release(): void {
    for (const care of this.cares.filter(({ isOwn, isEmpty }) => !isOwn && isEmpty)) {
      this.#finish(care.journal)
      this.letGo(care)
    }
  }

  #finish(journal: JournalModel): void {
    if (this.#world.has('tombstoneFirst')) journal.tombstone = journal.last
    else this.#unwritten = [...this.#unwritten, journal]
    journal.state = 'finished'
  }

  /** Asks for the marks of producers whose folders are gone, or sends a void for what they are behind by. */
  lookBack(): void {
    const { database, journals, network } = this.#world
    if (!this.#world.has('tombstones')) return
    for (const journal of this.#unwritten) journal.tombstone = journal.last
    this.#unwritten = []
    if (this.#lookedUp === null) {
      const gone = journals.filter(({ state, tombstone }) => state === 'finished' && tombstone > 0)
      this.#lookedUp = new Map(gone.map((journal) => [journal, database.markOf(journal.producer)]))
      return
    }
    for (const [{ producer, tombstone: to }, mark] of this.#lookedUp) {
      const from = mark + 1
      const entry = { producer, from, to, voidReason: 'journal_pruned', call: null, complete: false }
      if (mark < to) network.push({ care: null, entries: [entry], again: false })
    }
    this.#lookedUp = null
  }

  letGo(care: Care): void {
    care.journal.owner = null
    this.cares = this.cares.filter((other) => other !== care)
  }

  /** Ends in order: of its own journal nothing may be needed any more. */
  stop(): void {
    const { own } = this
    if (own?.isEmpty === true) this.#finish(own.journal)
    this.#world.kill(this)
  }

  /** Its memory is gone; what it sent may still arrive. */
  die(): void {
    for (const { journal } of this.cares) if (journal.owner === this.id) journal.owner = null
    this.cares = []
    this.under = []
    this.#unwritten = []
    this.#lookedUp = null
  }
}
