import type { Dialect, PromptFormat } from '../../providers/dialect.ts'
import { asUtf8 } from '../bodies/whole-body.ts'
import { BodyWindows, type KeptBytes } from './body-windows.ts'
import { EstimateThread, tokensByLength } from './estimate-thread.ts'
import { type Generated, type GeneratedText, generatedTextIn, textInCutJson } from './generated-text.ts'

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

/** What is being estimated, of all clients, is a token for four bytes at once: its records must be written now. */
export function giveUpCounts(): void {
  thread.giveUpAll()
}

/** Keeps enough of what was delivered to tell how many tokens it was. */
export interface DeliveredSample {
  /** The next bytes of the body, content-encoding undone. Copied as far as they are kept. */
  push(chunk: Uint8Array): void
  /** As {@link push}, of bytes that are not overwritten: of a short body none is copied, unless it is asked for. */
  keep(chunk: Uint8Array): void
  /**
   * Estimates the tokens of the text delivered so far. Within a few per cent for OpenAI's models while the body
   * is no longer than 64 KiB; of a longer one the middle is taken to be like its beginning and its end. What a
   * model thought and did not show is not in it. Never rejects.
   *
   * @param isForced the request leaves the model no choice but to call a tool.
   */
  estimateOutput(model: string | null, isForced?: boolean): Promise<number>
  /** What is kept of the body. Borrowed. */
  kept(): KeptBytes
  /** Nothing is asked of it any more. */
  release(): void
}

/** Opens a sample of one response in `dialect`, to the client by whose turn it is estimated. */
export function openDeliveredSample(dialect: Dialect, clientId: string): DeliveredSample {
  return new WindowedSample(dialect, clientId)
}

class WindowedSample implements DeliveredSample {
  readonly #dialect: Dialect
  readonly #clientId: string
  readonly #windows = new BodyWindows()

  constructor(dialect: Dialect, clientId: string) {
    this.#dialect = dialect
    this.#clientId = clientId
  }

  push(chunk: Uint8Array): void {
    this.#windows.push(chunk)
  }

  keep(chunk: Uint8Array): void {
    this.#windows.keep(chunk)
  }

  kept(): KeptBytes {
    return this.#windows.kept()
  }

  release(): void {
    this.#windows.release()
  }

  async estimateOutput(model: string | null, isForced = false): Promise<number> {
    const { head, tail, between: bytesBetween } = this.kept()
    if (bytesBetween === 0) {
      const all = readable(tail.length === 0 ? head : Buffer.concat([head, tail]))
      const whole = generatedTextIn(all, this.#dialect)
      return this.#count(isEmpty(whole) ? textInCutJson(all, this.#dialect) : whole, model, isForced)
    }
    const first = generatedTextIn(head, this.#dialect)
    const cut = first.text === '' ? textInCutJson(readable(head), this.#dialect) : first
    if (first.text === '' && cut.text !== '') {
      const tokens = await this.#count(cut, model, isForced)
      return Math.round((tokens * (head.length + bytesBetween + tail.length)) / head.length)
    }
    const last = generatedTextIn(tail, this.#dialect)
    // A window without any text is a preamble or an epilogue, of which there is no more in between.
    const headRest = first.text === '' ? 0 : head.length - first.end
    return this.#extrapolate(first, last, headRest + bytesBetween + last.start, model)
  }

  /** The bytes between the windows' texts are taken to hold as many tokens each as those texts. */
  async #extrapolate(
    first: GeneratedText,
    last: GeneratedText,
    unreadBytes: number,
    model: string | null,
  ): Promise<number> {
    const [firstTokens, lastTokens] = await Promise.all([
      this.#count(first, model, false),
      this.#count(last, model, false),
    ])
    const readBytes = first.end - first.start + last.end - last.start
    if (readBytes === 0) return 0
    return Math.round((firstTokens + lastTokens) * (1 + unreadBytes / readBytes))
  }

  async #count(made: Generated, model: string | null, isForced: boolean): Promise<number> {
    if (isEmpty(made)) return 0
    return thread.estimate(this.#clientId, made.text, model, this.#dialect, { calls: made.calls, isForced })
  }
}

function isEmpty({ text, calls }: Generated): boolean {
  return text === '' && calls === 0
}

/** Of text in UTF-16, which no server should send and some readers take, in UTF-8. */
function readable(bytes: Buffer): Buffer {
  const even = bytes.length % 2 === 0 ? bytes : bytes.subarray(0, -1)
  const utf8 = asUtf8(even)
  return utf8 === even ? bytes : utf8
}
