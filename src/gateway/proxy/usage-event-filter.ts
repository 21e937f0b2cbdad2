import { isObject, parsedJson } from '../../domain/json.ts'
import { spaceEnd } from '../../providers/wires/json-bytes.ts'

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const LETTER_D = 0x64
const BLANK_LINE = Buffer.from('\n\n')
/** Without its first quote: the native search runs along the first byte, and JSON is full of quotes. */
const USAGE_KEY = Buffer.from('usage"')
const CHOICES_KEY = Buffer.from('"choices"')

/**
 * Far above the size of any usage event. A longer event passes as it comes, so that memory and delay stay
 * bounded.
 */
const MAX_HELD_BYTES = 64 * 1024

const KEY = Buffer.from('usage"')
/** As servers write it, with and without spaces. The comma before it goes with it. */
const MEMBER = /^(?:,"|, ")usage": ?null/
/** What may stand behind a member of the root: members of plain values, and the end of the root and of the line. */
const REST = /^(?:, ?"[^"\\]*": ?(?:"[^"\\]*"|[\w.+-]+))*\}\r?$/
/** A longer rest of a line has text in it: no server writes that behind the usage. */
const MAX_REST = 512
/** `, "usage": null` */
const LONGEST_MEMBER = 15

/**
 * `events` without the `"usage":null` that every chunk of a chat stream has once its usage is asked for. Where the
 * gateway asked, a client that did not would not have it. In JSON a quote inside of a string has a backslash before it,
 * so that what is found is a member; it goes where it is one of the root.
 *
 * @param events whole events; not changed
 */
export function withoutNullUsage(events: Buffer): Buffer {
  const first = events.indexOf(KEY)
  return first < 0 ? events : without(events, first)
}

function without(events: Buffer, first: number): Buffer {
  const kept: Buffer[] = []
  let from = 0
  for (let key = first; key >= 0; key = events.indexOf(KEY, key + KEY.length)) {
    const start = key - (events[key - 2] === 0x20 ? 3 : 2)
    const member = start < from ? null : MEMBER.exec(events.toString('latin1', start, start + LONGEST_MEMBER))
    const end = start + (member?.[0].length ?? 0)
    if (member === null || !endsRoot(events, end)) continue
    kept.push(events.subarray(from, start))
    from = end
  }
  if (from === 0) return events
  kept.push(events.subarray(from))
  return Buffer.concat(kept)
}

/** Whether only members of the root follow, so that what stood before was one. */
function endsRoot(events: Buffer, from: number): boolean {
  const end = events.indexOf(LF, from)
  const until = end < 0 ? events.length : end
  return until - from <= MAX_REST && REST.test(events.toString('latin1', from, until))
}

/**
 * Takes the usage event that the client did not ask for out of a stream of server-sent events, and no other:
 * an event whose data is JSON with `choices: []`, a `usage` object and no `error`. All other bytes come out
 * unchanged and in order, in pieces of any size. Chunks without such an event are passed on without a copy.
 * Only an event that has not ended is held back, at most 64 KiB of it.
 */
export class UsageEventFilter {
  /** The bytes of the unfinished event, from its beginning. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** The unfinished event is too long to be held, so it passes. */
  #releasesHeld = false
  #lineIsEmpty = true
  /** The last chunk ended in CR: an LF at the beginning of the next one belongs to it. */
  #lfBelongs: 'nowhere' | 'to event' | 'to passed event' | 'to taken event' = 'nowhere'

  /**
   * Whether all of `chunk` may go to the client, because an event begins with it and it is known to be whole events
   * without usage: then it need not be pushed.
   */
  passes(chunk: Buffer): boolean {
    return this.#isBetweenEvents() && chunk[chunk.length - 1] === LF
  }

  /** The bytes that may go to the client now; perhaps none. */
  push(chunk: Buffer): Buffer[] {
    const isShort = !this.#releasesHeld && this.#lfBelongs === 'nowhere' && !chunk.includes(CR)
    return isShort ? this.#pushLfLines(chunk) : this.#pushAnyLines(chunk)
  }

  #isBetweenEvents(): boolean {
    return this.#heldBytes === 0 && this.#lineIsEmpty && !this.#releasesHeld && this.#lfBelongs === 'nowhere'
  }

  /** As `#pushAnyLines`: without a CR an event ends in two LFs, so that only those with usage need be found. */
  #pushLfLines(chunk: Buffer): Buffer[] {
    const passing: Buffer[] = []
    if (chunk.length === 0) return passing
    const wasEmpty = this.#lineIsEmpty
    this.#lineIsEmpty = chunk[chunk.length - 1] === LF
    let start = 0
    let passStart = 0
    if (this.#heldBytes > 0) {
      start = wasEmpty && chunk[0] === LF ? 1 : behindBlankLine(chunk, 0)
      if (start < 0) {
        this.#hold(chunk, passing)
        return passing
      }
      if (isUsageAlone(this.#whole(chunk.subarray(0, start)))) passStart = start
      else passing.push(...this.#held)
      this.#reset()
    }
    start = behindEmptyLines(chunk, start)
    for (let key = usageObject(chunk, start); key >= 0; key = usageObject(chunk, start)) {
      const end = behindBlankLine(chunk, key)
      if (end < 0) break
      const blank = chunk.lastIndexOf(BLANK_LINE, key)
      const from = blank < start ? start : blank + BLANK_LINE.length
      if (isUsageAlone(chunk.subarray(from, end))) {
        if (from > passStart) passing.push(chunk.subarray(passStart, from))
        passStart = end
      }
      start = behindEmptyLines(chunk, end)
    }
    const lastBlank = chunk.lastIndexOf(BLANK_LINE)
    const passEnd = lastBlank < start ? start : lastBlank + BLANK_LINE.length
    if (passEnd > passStart) passing.push(part(chunk, passStart, passEnd))
    if (passEnd < chunk.length) this.#hold(part(chunk, passEnd, chunk.length), passing)
    return passing
  }

  #pushAnyLines(chunk: Buffer): Buffer[] {
    const passing: Buffer[] = []
    let at = chunk[0] === LF && this.#lfBelongs !== 'nowhere' ? 1 : 0
    let eventStart = at === 1 && this.#lfBelongs !== 'to event' ? 1 : 0
    let passStart = at === 1 && this.#lfBelongs === 'to taken event' ? 1 : 0
    if (chunk.length > 0) this.#lfBelongs = 'nowhere'

    let lf = chunk.indexOf(LF, at)
    let cr = chunk.indexOf(CR, at)
    while (lf >= 0 || cr >= 0) {
      const lineEnd = lf < 0 || (cr >= 0 && cr < lf) ? cr : lf
      const next = lineEnd === cr && lf === cr + 1 ? lf + 1 : lineEnd + 1
      const endsInBareCr = lineEnd === cr && next === chunk.length && lf !== cr + 1
      const endsEvent = this.#lineIsEmpty && lineEnd === at
      this.#lineIsEmpty = true
      if (endsInBareCr) this.#lfBelongs = 'to event'
      if (endsEvent) {
        if (!this.#releasesHeld && isUsageAlone(this.#whole(chunk.subarray(eventStart, next)))) {
          if (eventStart > passStart) passing.push(chunk.subarray(passStart, eventStart))
          passStart = next
          if (endsInBareCr) this.#lfBelongs = 'to taken event'
        } else {
          passing.push(...this.#held)
          if (endsInBareCr) this.#lfBelongs = 'to passed event'
        }
        this.#reset()
        eventStart = next
      }
      at = next
      if (lf >= 0 && lf < next) lf = chunk.indexOf(LF, next)
      if (cr >= 0 && cr < next) cr = chunk.indexOf(CR, next)
    }
    if (at < chunk.length) this.#lineIsEmpty = false

    const passEnd = this.#releasesHeld ? chunk.length : eventStart
    if (passEnd > passStart) passing.push(part(chunk, passStart, passEnd))
    if (passEnd < chunk.length) this.#hold(part(chunk, passEnd, chunk.length), passing)
    return passing
  }

  /**
   * The stream has ended, or was cut. Returns the bytes of its last event, unless that is the one to be taken
   * out.
   */
  end(): Buffer[] {
    const rest = this.#held
    const taken = rest.length > 0 && isUsageAlone(Buffer.concat(rest))
    this.#reset()
    return taken ? [] : rest
  }

  #whole(lastPart: Buffer): Buffer {
    return this.#held.length === 0 ? lastPart : Buffer.concat([...this.#held, lastPart])
  }

  #hold(bytes: Buffer, passing: Buffer[]): void {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes <= MAX_HELD_BYTES) return
    passing.push(...this.#held)
    this.#reset()
    this.#releasesHeld = true
  }

  #reset(): void {
    this.#held = []
    this.#heldBytes = 0
    this.#releasesHeld = false
  }
}

function part(chunk: Buffer, start: number, end: number): Buffer {
  return start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end)
}

function isUsageAlone(event: Buffer): boolean {
  // The bytes of most events show that they are others; the few that may be the one are parsed.
  if (usageObject(event, 0) < 0 || !holdsEmptyChoices(event)) return false
  const json = parsedJson(dataOf(event))
  if (!isObject(json) || (json.error !== undefined && json.error !== null)) return false
  return Array.isArray(json.choices) && json.choices.length === 0 && isObject(json.usage)
}

/** Where a member begins, at or behind `from`, that is named `usage` and an object; -1: none does. */
function usageObject(bytes: Buffer, from: number): number {
  for (let key = bytes.indexOf(USAGE_KEY, from); key >= 0; key = bytes.indexOf(USAGE_KEY, key + 1)) {
    const isKey = bytes[key - 1] === QUOTE
    if (isKey && bytes[valueAt(bytes, key + USAGE_KEY.length)] === OPEN_BRACE) return key
  }
  return -1
}

/** Each empty line where an event might begin is an event of its own. */
function behindEmptyLines(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === LF) at += 1
  return at
}

/** -1: there is none at or behind `from`. */
function behindBlankLine(bytes: Buffer, from: number): number {
  const blank = bytes.indexOf(BLANK_LINE, from)
  return blank < 0 ? -1 : blank + BLANK_LINE.length
}

function holdsEmptyChoices(event: Buffer): boolean {
  for (let key = event.indexOf(CHOICES_KEY); key >= 0; key = event.indexOf(CHOICES_KEY, key + 1)) {
    const value = valueAt(event, key + CHOICES_KEY.length)
    if (event[value] !== OPEN_BRACKET) continue
    const next = event[spaceEnd(event, value + 1)]
    // JSON that has several lines continues in another `data` line.
    if (next === CLOSE_BRACKET || next === LETTER_D) return true
  }
  return false
}

/** Where the value begins whose key ends just before `at`; -1: no colon follows. */
function valueAt(event: Buffer, at: number): number {
  const colon = spaceEnd(event, at)
  return event[colon] === COLON ? spaceEnd(event, colon + 1) : -1
}

/** The event's `data` lines, joined as the WHATWG HTML standard (9.2.6) has it. */
function dataOf(event: Buffer): string {
  const lines: string[] = []
  for (const line of event
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:')) lines.push(line.slice(line[5] === ' ' ? 6 : 5))
  }
  return lines.join('\n')
}
