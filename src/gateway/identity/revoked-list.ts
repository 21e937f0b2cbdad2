import { createReadStream, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import type { Logger } from '../../lib/logger.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { repeat } from '../../lib/repeat.ts'

/** What is written into the list holds after this time. */
const READ_EVERY_MS = 2_000

/** The subjects and tokens of one issuer that are refused whatever their signatures say. */
export class RevokedList {
  readonly #path: string
  readonly #log: Logger
  /** Of the last two readings: who writes over a file empties it first. */
  #entries: readonly [ReadonlySet<string>, ReadonlySet<string>]
  #lost = false
  readonly #reading: { stop(): Promise<void> }

  /** @throws Where the file cannot be read: without it, revoked ones would be let in. */
  constructor(path: string, log: Logger) {
    this.#path = path
    this.#log = log
    const entries = entriesOf(readFileSync(path, 'utf8'))
    this.#entries = [entries, entries]
    this.#reading = repeat(() => this.#read(), READ_EVERY_MS)
  }

  has(subject: string, tokenId: string | null): boolean {
    return this.#entries.some(
      (entries) => entries.has(`sub ${subject}`) || (tokenId !== null && entries.has(`jti ${tokenId}`)),
    )
  }

  async stop(): Promise<void> {
    await this.#reading.stop()
  }

  async #read(): Promise<void> {
    try {
      // Not by `readFile`, which reads as much as the file had when it was opened: of a new content, the beginning.
      this.#entries = [entriesOf(await text(createReadStream(this.#path))), this.#entries[0]]
      this.#lost = false
    } catch (error) {
      // The one that was read last goes on.
      if (!this.#lost)
        this.#log.error(
          { event: 'identity.list_unreadable', path: this.#path, reason: reasonOf(error) },
          'the list of revoked tokens cannot be read; the one before goes on',
        )
      this.#lost = true
    }
  }
}

/** Lines `sub SUBJECT` and `jti ID`. Others, such as comments, match nothing. */
function entriesOf(content: string): ReadonlySet<string> {
  return new Set(content.split('\n').map((line) => line.trim().replace(/^(sub|jti)\s+/, '$1 ')))
}
