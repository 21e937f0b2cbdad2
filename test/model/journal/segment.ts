/** Where a frame stands: how many stand before it in which segment. */
export interface LogPosition {
  readonly segment: number
  readonly index: number
}

/** What a journal's log is made of. */
export type Frame =
  | {
      /** The first of a segment. */
      readonly kind: 'begin'
      /** The number that the next record gets. */
      readonly next: number
      readonly prunedTo: number
      /** The log is read up to there, then here; `null`: it begins here. */
      readonly from: LogPosition | null
      /** Segments before it are not needed any more. */
      readonly first: number
    }
  | { readonly kind: 'open' | 'carried' | 'discard'; readonly call: number }
  | {
      readonly kind: 'record'
      readonly call: number
      readonly sequence: number
      readonly complete: boolean
      /** The call is open no longer. */
      readonly closes: boolean
    }
  /** Records at or under `to`, and segments before `first`, are not needed any more. */
  | { readonly kind: 'pruned'; readonly to: number; readonly first: number }
  /** All that stands before `end` is synced; `last` is the highest number that was given before this frame. */
  | { readonly kind: 'synced'; readonly end: LogPosition; readonly last: number }

/** A file of the log. `null` stands for bytes that make no frame: torn, zeroed, garbled. */
export interface Segment {
  readonly number: number
  frames: (Frame | null)[]
  /** So many of its frames power loss cannot take. */
  durable: number
  /** Its name in the folder is synced. */
  isNamed: boolean
  /** A sync of it failed: what was not synced by then never is, whatever a later one says. */
  isDistrusted: boolean
  /** What a cut took and power loss may bring back. */
  cutOff: readonly (Frame | null)[]
}

/** Whether `left` stands before `right`. */
export function isBefore(left: LogPosition, right: LogPosition): boolean {
  return left.segment < right.segment || (left.segment === right.segment && left.index < right.index)
}

/** The highest position that a `synced` frame names. */
export function syncedEnd(segments: readonly Segment[]): LogPosition {
  let end: LogPosition = { segment: 0, index: 0 }
  for (const { frames } of segments)
    for (const frame of frames) if (frame?.kind === 'synced' && isBefore(end, frame.end)) end = frame.end
  return end
}
