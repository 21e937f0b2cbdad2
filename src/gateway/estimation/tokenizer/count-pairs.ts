import { type Encoding, loadTokenTable, NO_RANK, type TokenTable } from './token-table.ts'

// How both encodings split a text into words, of which each is encoded alone (openai/tiktoken, openai_public.py).
const CONTRACTION = String.raw`'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE])`
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const WORDS: Readonly<Record<Encoding, RegExp>> = {
  o200k_base: new RegExp(
    String.raw`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+(?:${CONTRACTION})?|[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*(?:${CONTRACTION})?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
    'gu',
  ),
  cl100k_base: new RegExp(
    String.raw`${CONTRACTION}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|\s+(?!\S)|\s`,
    'gu',
  ),
}

/** Counts the tokens of short texts, by byte pair encoding. */
export class PairCounter {
  readonly #words: RegExp
  readonly #table: TokenTable
  readonly #encoder = new TextEncoder()
  #bytes = new Uint8Array(256)
  /** Where each part of a word begins, and the rank that it would have together with the next. */
  #starts = new Uint32Array(257)
  #ranks = new Uint32Array(257)

  constructor(encoding: Encoding, table: TokenTable) {
    this.#words = WORDS[encoding]
    this.#table = table
  }

  count(text: string): number {
    let tokens = 0
    for (const [word] of text.matchAll(this.#words)) tokens += this.#countWord(word)
    return tokens
  }

  #countWord(word: string): number {
    if (word.length * 3 > this.#bytes.length) this.#grow(word.length * 3)
    const { written } = this.#encoder.encodeInto(word, this.#bytes)
    if (written <= 1 || this.#table.rankOf(this.#bytes, 0, written) !== NO_RANK) return 1
    return this.#merge(written)
  }

  #grow(wanted: number): void {
    this.#bytes = new Uint8Array(wanted * 2)
    this.#starts = new Uint32Array(wanted * 2 + 1)
    this.#ranks = new Uint32Array(wanted * 2 + 1)
  }

  /** Merges the neighbours that are the token of the lowest rank, until none are one. */
  #merge(length: number): number {
    const [starts, ranks] = [this.#starts, this.#ranks]
    for (let at = 0; at <= length; at++) starts[at] = at
    let parts = length
    for (let part = 0; part < parts; part++) ranks[part] = this.#rankAt(part, parts)
    for (;;) {
      let best = 0
      let lowest = NO_RANK
      for (let part = 0; part < parts - 1; part++) {
        const rank = ranks[part] ?? NO_RANK
        if (rank >= lowest) continue
        lowest = rank
        best = part
      }
      if (lowest === NO_RANK) return parts
      starts.copyWithin(best + 1, best + 2, parts + 1)
      ranks.copyWithin(best + 1, best + 2, parts)
      parts -= 1
      ranks[best] = this.#rankAt(best, parts)
      if (best > 0) ranks[best - 1] = this.#rankAt(best - 1, parts)
    }
  }

  #rankAt(part: number, parts: number): number {
    if (part + 2 > parts) return NO_RANK
    return this.#table.rankOf(this.#bytes, this.#starts[part] ?? 0, this.#starts[part + 2] ?? 0)
  }
}

/** Loads what counting in `encoding` needs: some 0.1 s and 5 MB. */
export async function loadPairCounter(encoding: Encoding): Promise<PairCounter> {
  return new PairCounter(encoding, await loadTokenTable(encoding))
}
