/** The token was refused, or there is none. */
export class NotSignedIn extends Error {}

export interface Answer {
  readonly data: unknown
  /** The cursor of what comes behind it; `null`: nothing does. */
  readonly next: string | null
}

interface Taker {
  take(answer: Answer): void
  /** @param problem A sentence for people. What was shown before stays. */
  fail(problem: string): void
}

interface AskerOptions {
  readonly ask: (url: string) => Promise<Answer>
  /** The token is not in force; nothing more is asked. */
  readonly refused: (problem: string) => void
  /** Whether there is anybody to ask for. */
  readonly isSeen: () => boolean
  readonly setTimer?: (run: () => void, waitMs: number) => Timer
}

type Timer = ReturnType<typeof setTimeout> | number

interface Part {
  readonly url: string
  /** All that show its answer. */
  readonly takers: Set<Taker>
  readonly everyMs: number
  /** The last answer; absent: none yet. */
  answer?: Answer
  waitMs: number
  timer: Timer
  isAsked: boolean
  /** Something was changed while it was asked: its answer may be from before, so it is asked once more. */
  isOutdated: boolean
}

const LONGEST_MS = 300_000
/** More would be a burst of queries on Postgres; with one, a slow part would hold all the others back. */
const AT_ONCE = 2
/** How long the first part of a page keeps the others but one waiting: it is what the page is opened for. */
const LEAD_MS = 1_000

/**
 * Asks for the parts of a page, again and again while somebody looks: each alone, in the order in which they were
 * opened, two at once, and no third before the first is there. One that fails is asked ever less often, until it answers.
 */
export class Asker {
  readonly #options: AskerOptions
  readonly #parts = new Map<string, Part>()
  #waiting: Part[] = []
  #asking = 0
  /** The first of a page, while it keeps others waiting, and how many were begun with it. */
  #lead: { readonly part: Part; begun: number } | null = null

  constructor(options: AskerOptions) {
    this.#options = options
  }

  /**
   * What is asked alike is asked once, however many show its answer.
   *
   * @returns what ends it: its answer, should one be under way, is dropped.
   */
  open(url: string, everyMs: number, taker: Taker): () => void {
    const part = this.#parts.get(url) ?? this.#begin(url, everyMs)
    part.takers.add(taker)
    if (part.answer !== undefined) taker.take(part.answer)
    return () => {
      part.takers.delete(taker)
      if (part.takers.size > 0 || this.#parts.get(url) !== part) return
      this.#parts.delete(url)
      clearTimeout(part.timer)
      this.#waiting = this.#waiting.filter((other) => other !== part)
      this.#endLead(part)
    }
  }

  #begin(url: string, everyMs: number): Part {
    const part: Part = {
      url,
      takers: new Set(),
      everyMs,
      waitMs: everyMs,
      timer: 0,
      isAsked: false,
      isOutdated: false,
    }
    if (this.#parts.size === 0) this.#follow(part)
    this.#parts.set(url, part)
    this.#due(part)
    return part
  }

  #follow(part: Part): void {
    this.#lead = { part, begun: 0 }
    setTimeout(() => this.#endLead(part), LEAD_MS)
  }

  #endLead(part: Part): void {
    if (this.#lead?.part !== part) return
    this.#lead = null
    this.#next()
  }

  /** All parts, now: something was changed, or somebody looks again. */
  wake(): void {
    for (const part of this.#parts.values()) {
      part.isOutdated = part.isAsked
      this.#due(part)
    }
  }

  #due(part: Part): void {
    clearTimeout(part.timer)
    if (part.isAsked || this.#waiting.includes(part)) return
    this.#waiting.push(part)
    this.#next()
  }

  #next(): void {
    while (this.#asking < AT_ONCE && (this.#lead?.begun ?? 0) < AT_ONCE) {
      const part = this.#waiting.shift()
      if (part === undefined) return
      if (this.#lead !== null) this.#lead.begun += 1
      void this.#ask(part)
    }
  }

  async #ask(part: Part): Promise<void> {
    const { ask, refused, isSeen, setTimer = setTimeout } = this.#options
    const isOpen = () => this.#parts.get(part.url) === part
    this.#asking += 1
    part.isAsked = true
    try {
      const answer = await ask(part.url)
      part.waitMs = part.everyMs
      part.answer = answer
      for (const taker of part.takers) taker.take(answer)
    } catch (error) {
      part.waitMs = Math.min(part.waitMs * 2, LONGEST_MS)
      if (error instanceof NotSignedIn) {
        if (isOpen()) refused(error.message)
        this.#parts.clear()
        this.#waiting = []
      } else for (const taker of part.takers) taker.fail(sentenceOf(error))
    }
    this.#asking -= 1
    part.isAsked = false
    this.#endLead(part)
    if (isOpen() && part.isOutdated) {
      part.isOutdated = false
      this.#due(part)
    } else if (isOpen() && isSeen()) part.timer = setTimer(() => this.#due(part), part.waitMs)
    this.#next()
  }
}

/** What `fetch` throws has no words for people. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'The gateway took too long.'
  return error instanceof TypeError ? 'The gateway does not answer.' : error.message
}
