import type { SegmentLog } from '../segment-log.ts'
import type { JournalCall, OpenCalls } from '../turns/open-calls.ts'
import type { LogSync, SyncedState } from './log-sync.ts'

/** Open calls carried forward in one write, and UTF-16 units of their texts but for one call: under a millisecond. */
const CARRIED_CALLS = 100
const CARRIED_UNITS = 128 * 1024

export interface SegmentCleanerOptions {
  readonly log: SegmentLog
  readonly calls: OpenCalls
  readonly sync: Pick<LogSync, 'touch'>
}

/**
 * Deletes segments of which nothing is needed, oldest first, off the event loop. That they are not needed is in the
 * log, and synced, before the first of them goes: a reader that finds some of them passes over them.
 */
export class SegmentCleaner {
  readonly #options: SegmentCleanerOptions
  /** Segments below `first` go when the log is synced up to there. */
  #announced: { readonly first: number; readonly segment: number; readonly position: number } | null = null
  /** Segments below it were not needed any more when the sync before ended. */
  #unneededBelow = 0
  #removing: Promise<void> | null = null
  #obsolete: string[] = []

  constructor(options: SegmentCleanerOptions) {
    this.#options = options
  }

  /** These files are not part of the log any more, as soon as it is synced. */
  addObsolete(paths: readonly string[]): void {
    this.#obsolete.push(...paths)
  }

  /** The log was synced up to here. Never throws: what the disk refuses is tried again after the next sync. */
  synced({ end }: SyncedState): void {
    const announced = this.#announced
    if (announced !== null) {
      if (end.segment < announced.segment) return
      if (end.segment === announced.segment && end.position < announced.position) return
      this.#announced = null
      this.#delete(announced.first)
    }
    this.#removeObsolete()
    this.#announce()
  }

  /** Resolves when no file is being deleted. */
  async settled(): Promise<void> {
    await this.#removing
  }

  #delete(first: number): void {
    const { log } = this.#options
    for (const { number, path } of log.segments) if (number < first) this.#obsolete.push(path)
    log.dropBelow(first)
  }

  #removeObsolete(): void {
    const { disk } = this.#options.log.options
    const paths = this.#obsolete
    if (paths.length === 0 || this.#removing !== null) return
    this.#obsolete = []
    this.#removing = (async () => {
      for (const path of paths) await disk.removeLater(path).catch(() => {}) // A reader passes over it.
    })().finally(() => {
      this.#removing = null
    })
  }

  /**
   * Writes down that the oldest segments are not needed, if they were not when the sync before ended. Then what made
   * them so is synced: power loss must not leave this frame and take the end of a call that they have as open.
   */
  #announce(): void {
    const { log, calls, sync } = this.#options
    const { segments, counts, current } = log
    let first = segments[0]?.number ?? 0
    let bytes = 0
    let isHeld = false
    for (const segment of segments) {
      if (segment === current || segment.file !== null || segment.index.last > counts.prunedTo) break
      isHeld ||= segment.openCalls > 0
      if (!isHeld) first = segment.number + 1
      else bytes += segment.bytes
    }
    const oldest = segments[0]?.number ?? 0
    const unneeded = this.#unneededBelow
    this.#unneededBelow = first
    if (unneeded > oldest) this.#write(() => log.frames.pruned(counts.prunedTo, unneeded), unneeded)
    else if (first <= oldest) {
      if (!isHeld || bytes <= 2 * calls.writtenUnits + log.options.segmentBytes) return
      this.#carry(oldest)
    }
    sync.touch()
  }

  /** Writes calls of the oldest segment to the newest. The next sync goes on with it. */
  #carry(segment: number): void {
    const { log, calls } = this.#options
    const carried: JournalCall[] = []
    let units = 0
    for (const call of calls.written) {
      if (call.home?.number !== segment) continue
      carried.push(call)
      units += call.text.length + (call.snapshot?.length ?? 0)
      if (carried.length === CARRIED_CALLS || units >= CARRIED_UNITS) break
    }
    const isWritten = this.#write(() => {
      for (const { number, text, snapshot } of carried) log.frames.carried(number, text, snapshot)
    }, null)
    if (isWritten) for (const call of carried) calls.moved(call, log.current)
  }

  #write(addFrames: () => void, first: number | null): boolean {
    const { log } = this.#options
    try {
      log.start()
      addFrames()
      log.append()
    } catch {
      return false
    }
    if (first === null) return true
    log.counts.firstSegment = first
    this.#announced = { first, ...log.end }
    return true
  }
}
