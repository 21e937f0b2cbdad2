import type { SequenceRange } from '../../../src/domain/sequence-range.ts'
import {
  countedTo,
  type OffsetReading,
  prunableUpTo,
  withReading,
} from '../../../src/ledger/shipping/committed-offset-reader.ts'
import { provenLoss, type Sighting, sequencesToCheck } from '../../../src/ledger/shipping/loss-detector.ts'
import { type SentEntry, SentIds } from '../../../src/ledger/shipping/sent-ids.ts'
import { gapBefore, nextShipment, sentAfterCommit } from '../../../src/ledger/shipping/shipping-progress.ts'
import type { JournalModel, SyncUnderWay } from '../journal/journal.ts'
import type { Sent } from '../stream.ts'
import { Violation } from '../violation.ts'
import { KEEP_MS, type World } from '../world.ts'
import type { Random } from './random.ts'

/** Commands on their way to Redis, which may come late, in part or not at all. */
export interface Packet {
  /** `null`: sent for a journal that is gone; no journal waits for an answer. */
  readonly owned: OwnedJournal | null
  readonly entries: readonly Sent[]
  /** Sent for a recorded gap. */
  readonly again: boolean
}

interface LossCheck {
  readonly committedOffset: number
  readonly wanted: readonly { readonly sequence: number; readonly entry: SentEntry }[]
  readonly sightings: readonly Sighting[] | null
}

const MAX_BATCH = 4

/** A journal that a gateway owns, as `Producer`, `Shipper` and `LossDetector` have it; adopted while `adopting`. */
export class OwnedJournal {
  readonly journal: JournalModel
  readonly isOwn: boolean
  /** Calls that were under way in an adopted journal and have no record yet; `null`: done. */
  adopting: number[] | null
  /** What a rule that is taken out has put off. */
  readonly deferred: (() => void)[] = []
  committedOffset: number
  sent: number
  inFlight: Packet | null = null
  /** Postgres regressed behind what this knew, and it has not seen it yet. */
  unseenMs: number | null = null
  readonly #world: World
  readonly #ids = new SentIds()
  #synced = 0
  #syncing: SyncUnderWay | null = null
  #isUpgrading = false
  #rewindTo: number | null = null
  #again: readonly SequenceRange[] = []
  #checkLoss: LossCheck | null = null
  #readings: readonly OffsetReading[] = []

  constructor(world: World, journal: JournalModel, isOwn: boolean, committedOffset: number) {
    this.#world = world
    this.journal = journal
    this.isOwn = isOwn
    this.adopting = isOwn ? null : [...journal.open.keys()]
    this.committedOffset = committedOffset
    this.sent = committedOffset
  }

  get isEmpty(): boolean {
    const { open, prunedTo, last } = this.journal
    return this.adopting === null && open.size === 0 && prunedTo === last && this.committedOffset >= last
  }

  /** A call begins; its number. */
  open(): number {
    const { calls } = this.#world
    const call = calls.add(this.journal.producer)
    const write = () => this.journal.commit({ kind: 'open', call })
    if (this.#world.has('openBeforeUpstream')) write()
    else this.deferred.push(write)
    calls.wentUpstream(call)
    return call
  }

  /** A call ends, and its client has the whole answer. */
  close(call: number): void {
    if (this.#world.has('recordBeforeAnswer')) this.record(call, true)
    else this.deferred.push(() => this.record(call, true))
    this.#world.calls.answered(call)
  }

  record(call: number, complete: boolean): void {
    const { journal } = this
    const sequence = journal.last + 1
    this.#world.calls.numbered(journal.producer, sequence, call)
    const closes = this.#world.has('closeWithRecord')
    journal.commit({ kind: 'record', call, sequence, complete, closes })
    if (!closes) this.deferred.push(() => journal.commit({ kind: 'discard', call }))
  }

  /** An adopter closes one of the calls that were under way, when the journal is a log. */
  adopt(): void {
    if (this.journal.isOld || this.#isUpgrading) {
      if (this.#isUpgrading) this.journal.endUpgrade()
      else this.journal.beginUpgrade()
      this.#isUpgrading = !this.#isUpgrading
      return
    }
    const call = this.adopting?.pop()
    if (call !== undefined) this.record(call, false)
    if (this.adopting?.length === 0) this.adopting = null
  }

  /** Begins a sync, or ends the one under way. */
  sync(): void {
    this.deferred.shift()?.()
    const { journal } = this
    const syncing = this.#syncing
    // What its adopter writes first is synced by the upgrade.
    if (this.#isUpgrading || (journal.isOld && !this.isOwn)) return
    if (syncing === null) {
      this.#syncing = journal.beginSync()
      return
    }
    this.#syncing = null
    journal.endSync(syncing)
    if (this.#world.has('vouchedBeforeShipped')) journal.vouch(syncing)
    else this.deferred.push(() => journal.vouch(syncing))
    this.#synced = this.#world.has('syncedBeforeSync') ? syncing.last : journal.last
  }

  /** The sync under way fails. False: there is none. */
  failSync(isKilled: boolean, random: Random): boolean {
    if (this.#syncing === null || !this.journal.canFailSync) return false
    this.#syncing = null
    this.journal.failSync(isKilled, random)
    return true
  }

  /** One turn of the shipper's loop, up to where it waits for Redis. */
  ship(random: Random): void {
    if (this.inFlight !== null || this.adopting !== null) return
    if (this.#rewindTo !== null) {
      this.sent = Math.max(this.#rewindTo, this.committedOffset)
      this.#rewindTo = null
      this.#ids.clear()
    }
    if (this.#again.length > 0) this.#shipAgain()
    else this.#shipNext(random)
  }

  #shipNext(random: Random): void {
    const synced = this.#world.has('shipSynced') ? this.#synced : this.journal.last
    const state = {
      prunedTo: this.journal.prunedTo,
      synced,
      sent: this.sent,
      committedOffset: this.committedOffset,
      hintedOffset: 0,
    }
    const shipment = nextShipment(state, 0, 1 + random(MAX_BATCH))
    if (shipment.kind === 'gap') this.#shipGapMarker(shipment, 'journal_pruned')
    if (shipment.kind !== 'records') return
    const numbers = this.journal.read(shipment.after, shipment.maxRows)
    const gap = gapBefore(numbers[0] ?? synced + 1, shipment.after)
    if (gap !== null) this.#shipGapMarker(gap, 'journal_corrupt')
    else this.#send(numbers.map((number) => this.#entry(number)))
  }

  /** Redis did what was sent and said so: the ids, in order. */
  answered({ entries, again }: Packet, ids: readonly number[]): void {
    this.inFlight = null
    if (again) return
    entries.forEach(({ to }, index) => {
      this.#ids.add(to, String(ids[index]))
      this.sent = Math.max(this.sent, to)
    })
  }

  /** No answer: what became of what was sent is unknown. */
  giveUp(): void {
    const to = this.inFlight?.entries.at(-1)?.to ?? 0
    const again = this.inFlight?.again === true
    this.inFlight = null
    if (!this.#world.has('appendAgain') && !again) this.sent = Math.max(this.sent, to)
  }

  /** A committed offset that was read. */
  learn(committedOffset: number): void {
    const before = this.committedOffset
    this.committedOffset = committedOffset
    if (committedOffset < before) {
      this.unseenMs = null
      if (this.#world.has('committedRegresses'))
        this.#rewindTo = Math.min(this.#rewindTo ?? committedOffset, committedOffset)
      this.#addReading(committedOffset)
    }
    if (committedOffset > before) this.#ids.dropThrough(committedOffset)
    if (committedOffset === before || this.#rewindTo !== null) return
    this.sent = this.#world.has('committedRegresses')
      ? sentAfterCommit(this.sent, before, committedOffset)
      : Math.max(this.sent, committedOffset)
  }

  /** The next step of a check for what Redis may have lost. Committed offsets are read and learned at once. */
  checkLoss(): void {
    if (!this.#world.has('lossProof')) return
    const { database, stream } = this.#world
    const { producer } = this.journal
    const lossCheck = this.#checkLoss
    this.#checkLoss = null
    if (lossCheck === null) {
      this.learn(database.committedOffsetOf(producer))
      const wanted = sequencesToCheck(this.committedOffset, this.sent).flatMap((sequence) => {
        const entry = this.#ids.find(sequence)
        return entry === null ? [] : [{ sequence, entry }]
      })
      if (wanted.length > 0)
        this.#checkLoss = { committedOffset: this.committedOffset, wanted, sightings: null }
    } else if (lossCheck.sightings === null) {
      const sightings = lossCheck.wanted.map(({ sequence, entry }) => {
        const found = stream.get(Number(entry.id))
        return { sequence, present: found?.producer === producer && found.to === entry.sequence }
      })
      if (sightings.some(({ present }) => !present)) this.#checkLoss = { ...lossCheck, sightings }
    } else {
      if (this.#world.has('lossReread')) this.learn(database.committedOffsetOf(producer))
      const from = provenLoss(
        lossCheck.sightings,
        this.#world.has('lossReread') ? this.committedOffset : lossCheck.committedOffset,
      )
      if (from === null) return
      if (provenLoss(lossCheck.sightings, database.committedOffsetOf(producer)) === null)
        throw new Violation(`entries of ${producer} are taken for lost, which are counted`)
      this.#rewindTo = Math.min(this.#rewindTo ?? from, from)
    }
  }

  /** Reads committed offset and gaps, has the gaps' records sent again, and deletes what may be pruned. */
  prune(): void {
    const world = this.#world
    const { database, nowMs } = world
    const { producer, prunedTo } = this.journal
    if (this.adopting !== null) return
    this.learn(database.committedOffsetOf(producer))
    const held = database.totals.gaps.filter(
      (gap) => gap.producer === producer && (this.journal.read(gap.from - 1, 1)[0] ?? gap.to + 1) <= gap.to,
    )
    if (world.has('gapsSentAgain')) this.#again = held
    const counted = countedTo(this.committedOffset, held)
    if (counted < (this.#readings.at(-1)?.committedOffset ?? 0)) this.unseenMs = null
    const upTo = this.#prunableUpTo(world.has('gapsKept') ? counted : this.committedOffset, counted)
    if (upTo <= prunedTo) return
    const unlocked = database.past.filter(({ untilMs }) => untilMs > nowMs - KEEP_MS)
    const states = [database.totals, ...unlocked.map(({ totals }) => totals)]
    world.calls.checkPrune(this.journal, upTo, states, this.unseenMs)
    this.journal.prune(upTo)
  }

  #prunableUpTo(reading: number, counted: number): number {
    const world = this.#world
    if (!world.has('keptUntilCommitted')) return Math.min(this.sent, this.journal.last)
    if (!world.has('keptForKeepTime')) return counted
    this.#addReading(reading)
    const isLower = world.has('keptWhileLower')
    const latest = { atMs: world.nowMs, committedOffset: isLower ? reading : Number.POSITIVE_INFINITY }
    const upTo = prunableUpTo(this.#readings, latest, KEEP_MS)
    return Math.min(isLower ? Math.min(upTo, counted) : upTo, this.journal.last)
  }

  #addReading(committedOffset: number): void {
    const reading = { atMs: this.#world.nowMs, committedOffset }
    if (this.#world.has('keptWhileLower')) this.#readings = withReading(this.#readings, reading, KEEP_MS)
    else if (committedOffset > (this.#readings.at(-1)?.committedOffset ?? 0))
      this.#readings = [...this.#readings, reading]
  }

  #shipAgain(): void {
    const [range, ...rest] = this.#again
    this.#again = rest
    if (range === undefined) return
    const numbers = this.journal.read(range.from - 1, MAX_BATCH)
    const wanted = numbers.filter((number) => number <= range.to && number <= this.committedOffset)
    const newest = wanted.at(-1)
    if (newest === undefined) return
    if (newest < range.to) this.#again = [{ from: newest + 1, to: range.to }, ...rest]
    this.#send(
      wanted.map((number) => this.#entry(number)),
      true,
    )
  }

  #shipGapMarker({ from, to }: SequenceRange, gapReason: string): void {
    const { producer } = this.journal
    if (!this.#world.has('gapMarkerForPruned')) this.sent = Math.max(this.sent, to)
    else this.#send([{ producer, from, to, gapReason, call: null, complete: false }])
  }

  #entry(sequence: number): Sent {
    const record = this.journal.get(sequence)
    const { producer } = this.journal
    return {
      producer,
      from: sequence,
      to: sequence,
      gapReason: null,
      call: record?.call ?? null,
      complete: record?.complete === true,
    }
  }

  #send(entries: readonly Sent[], again = false): void {
    this.inFlight = { owned: this, entries, again }
    this.#world.network.push(this.inFlight)
  }
}
