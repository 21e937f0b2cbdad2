import type { Dialect, PromptFormat } from '../../providers/dialect.ts'
import { EstimateThread, tokensByLength } from './estimate-thread.ts'
import { type GeneratedText, generatedTextIn, textInCutJson } from './generated-text.ts'

/** Of a response, this much of its beginning and this much of its end are kept: 64 KiB in all. */
const WINDOW_BYTES = 32 * 1024
const FIRST_HEAD_BYTES = 4 * 1024

const EMPTY = Buffer.alloc(0)

/** Loading a tokenizer and counting would hold up every stream of the process. */
const thread = new EstimateThread(new URL('./estimate-thread-main.ts', import.meta.url))

/**
 * Estimates the tokens of the prompt in a request body: text by tokenizer, chat templates, tools and media by the
 * constants of the model's family; a token for four bytes where that cannot be done, or not in time. `null` when no
 * body was read. Never rejects.
 *
 * @param requestBytes the body's length, also where it was too long to be kept; 0 when none was read.
 */
export async function estimateInput(
  clientId: string,
  format: PromptFormat,
  requestBody: Buffer | null,
  requestBytes: number,
  model: string | null,
): Promise<number | null> {
  if (requestBody !== null) return thread.estimate(clientId, requestBody, model, format)
  return requestBytes === 0 ? null : tokensByLength(requestBytes)
}

/** Keeps enough of what was delivered to tell how many tokens it was. */
export interface DeliveredSample {
  /** The next bytes of the body, content-encoding undone. Copied as far as they are kept. */
  push(chunk: Uint8Array): void
  /**
   * Estimates the tokens of the text delivered so far. Within a few per cent for OpenAI's models while the body
   * is no longer than 64 KiB; of a longer one the middle is taken to be like its beginning and its end. What a
   * model thought and did not show is not in it. Never rejects.
   */
  estimateOutput(model: string | null): Promise<number>
  /** What is kept of the body: its beginning and, of one longer than that, its end. Borrowed. */
  kept(): KeptBytes
}

export interface KeptBytes {
  readonly head: Buffer
  /** The last bytes behind the head; empty while the head has them all. */
  readonly tail: Buffer
  /** How many bytes passed between the two and were not kept. */
  readonly between: number
}

/** Opens a sample of one response in `dialect`, to the client by whose turn it is estimated. */
export function openDeliveredSample(dialect: Dialect, clientId: string): DeliveredSample {
  return new WindowedSample(dialect, clientId)
}

class WindowedSample implements DeliveredSample {
  readonly #dialect: Dialect
  readonly #clientId: string
  #head: Buffer = EMPTY
  #headBytes = 0
  /** The last bytes behind the head, as a ring; made only for bodies that fill the head. */
  #tail: Buffer = EMPTY
  #tailBytes = 0

  constructor(dialect: Dialect, clientId: string) {
    this.#dialect = dialect
    this.#clientId = clientId
  }

  push(chunk: Uint8Array): void {
    const toHead = Math.min(chunk.length, WINDOW_BYTES - this.#headBytes)
    if (toHead > 0) this.#pushToHead(chunk, toHead)
    if (toHead < chunk.length) this.#pushToTail(toHead > 0 ? chunk.subarray(toHead) : chunk)
  }

  kept(): KeptBytes {
    const tail = this.#tailInOrder()
    return { head: this.#head.subarray(0, this.#headBytes), tail, between: this.#tailBytes - tail.length }
  }

  async estimateOutput(model: string | null): Promise<number> {
    const { head, tail, between: bytesBetween } = this.kept()
    if (bytesBetween === 0) {
      const all = tail.length === 0 ? head : Buffer.concat([head, tail])
      return this.#count(generatedTextIn(all, this.#dialect).text || textInCutJson(all, this.#dialect), model)
    }
    const first = generatedTextIn(head, this.#dialect)
    const cutText = first.text === '' ? textInCutJson(head, this.#dialect) : ''
    if (cutText !== '') {
      const tokens = await this.#count(cutText, model)
      return Math.round((tokens * (this.#headBytes + this.#tailBytes)) / this.#headBytes)
    }
    return this.#extrapolate(first, generatedTextIn(tail, this.#dialect), bytesBetween, model)
  }

  /**
   * The bytes outside of both windows are taken to hold as many tokens each as those in the windows' texts.
   */
  async #extrapolate(
    first: GeneratedText,
    last: GeneratedText,
    bytesBetween: number,
    model: string | null,
  ): Promise<number> {
    const [firstTokens, lastTokens] = await Promise.all([
      this.#count(first.text, model),
      this.#count(last.text, model),
    ])
    const readBytes = first.end - first.start + last.end - last.start
    if (readBytes === 0) return 0
    // A window without any text is a preamble or an epilogue, of which there is no more in between.
    const headRest = first.text === '' ? 0 : this.#headBytes - first.end
    const unreadBytes = headRest + bytesBetween + last.start
    return Math.round((firstTokens + lastTokens) * (1 + unreadBytes / readBytes))
  }

  async #count(text: string, model: string | null): Promise<number> {
    return text === '' ? 0 : thread.estimate(this.#clientId, text, model, this.#dialect)
  }

  #pushToHead(chunk: Uint8Array, bytes: number): void {
    const needed = this.#headBytes + bytes
    if (needed > this.#head.length) {
      // Most answers are short and many streams are open: it grows with what passes.
      const grown = Math.max(FIRST_HEAD_BYTES, this.#head.length * 2, needed)
      const head = Buffer.allocUnsafeSlow(Math.min(grown, WINDOW_BYTES))
      this.#head.copy(head, 0, 0, this.#headBytes)
      this.#head = head
    }
    this.#head.set(bytes === chunk.length ? chunk : chunk.subarray(0, bytes), this.#headBytes)
    this.#headBytes = needed
  }

  #pushToTail(chunk: Uint8Array): void {
    if (this.#tail.length === 0) this.#tail = Buffer.allocUnsafeSlow(WINDOW_BYTES)
    const kept = chunk.length > WINDOW_BYTES ? chunk.subarray(chunk.length - WINDOW_BYTES) : chunk
    const at = (this.#tailBytes + chunk.length - kept.length) % WINDOW_BYTES
    const untilEdge = WINDOW_BYTES - at
    if (kept.length <= untilEdge) {
      this.#tail.set(kept, at)
    } else {
      this.#tail.set(kept.subarray(0, untilEdge), at)
      this.#tail.set(kept.subarray(untilEdge), 0)
    }
    this.#tailBytes += chunk.length
  }

  #tailInOrder(): Buffer {
    if (this.#tailBytes <= WINDOW_BYTES) return this.#tail.subarray(0, this.#tailBytes)
    const oldest = this.#tailBytes % WINDOW_BYTES
    return Buffer.concat([this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)])
  }
}
