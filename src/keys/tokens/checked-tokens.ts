import { hashKey, isTokenShaped, type TokenKind } from '../../domain/api-key.ts'
import { atMostEvery } from '../../lib/repeat.ts'

/** A token that was right is not looked up again for so long: its end is seen that late. */
const FRESH_MS = 500
/** Tokens of operators and of open pages are few. */
const MOST_KNOWN = 10_000
/** Tokens from where others guess: who guesses must not make more queries than this. */
const BESIDE_GUESSES_MS = 50

interface Known<Holder> {
  readonly holder: Promise<Holder | null>
  readonly askedAtMs: number
}

/**
 * Tokens that were right, in memory. Only a text that has the form of a token is looked up, so typos and scans cost no
 * query.
 */
export class CheckedTokens<Holder> {
  readonly #kinds: readonly TokenKind[]
  readonly #peppers: readonly string[]
  readonly #find: (digests: readonly Buffer[]) => Promise<Holder | null>
  readonly #now: () => number
  readonly #known = new Map<string, Known<Holder>>()
  readonly #besideGuesses = atMostEvery(BESIDE_GUESSES_MS)

  /**
   * @param find The holder of a token in force, by its digests under all peppers. Rejects without Postgres.
   * @param now Monotonic milliseconds.
   */
  constructor(
    kinds: readonly TokenKind[],
    peppers: readonly string[],
    find: (digests: readonly Buffer[]) => Promise<Holder | null>,
    now: () => number = () => performance.now(),
  ) {
    this.#kinds = kinds
    this.#peppers = peppers
    this.#find = find
    this.#now = now
  }

  /**
   * Tells whether a token is looked up although others guess from its address: it was right before, or has the form of
   * one, which cannot be guessed, and few were looked up so.
   */
  mayBeAsked(token: string): boolean {
    return this.#known.has(token) || (this.#isShaped(token) && this.#besideGuesses.passes())
  }

  /** Who holds it; `null`: it is none, or not in force. Rejects where that has to be asked and cannot. */
  async find(token: string): Promise<Holder | null> {
    if (!this.#isShaped(token)) return null
    const known = this.#known.get(token)
    if (known !== undefined && this.#now() - known.askedAtMs < FRESH_MS) return await known.holder
    const asked = {
      holder: this.#find(this.#peppers.map((pepper) => hashKey(token, pepper))),
      askedAtMs: this.#now(),
    }
    if (this.#known.size >= MOST_KNOWN) this.#known.clear()
    this.#known.set(token, asked)
    const drop = () => {
      if (this.#known.get(token) === asked) this.#known.delete(token)
    }
    const holder = await asked.holder.catch((error: unknown) => {
      drop()
      throw error
    })
    if (holder === null) drop()
    return holder
  }

  #isShaped(token: string): boolean {
    return this.#kinds.some((kind) => isTokenShaped(kind, token))
  }
}
