/** A piece of a long text: whole lines of one place, such as a day, and how many rows they are. */
export interface TextPiece {
  /** `null`: the header. */
  readonly where: string | null
  readonly text: string
  readonly rows: number
}

/** A text that is too long for memory. HTTP streams it, the command line writes it to stdout or into a file. */
export class LongText {
  readonly contentType: string
  /** What it is of: UTC days, and more that the command's JSON says. */
  readonly about: { readonly from: string; readonly to: string; readonly [name: string]: unknown }
  readonly #first: IteratorResult<TextPiece>
  readonly #rest: AsyncGenerator<TextPiece>

  private constructor(
    contentType: string,
    about: LongText['about'],
    first: IteratorResult<TextPiece>,
    rest: AsyncGenerator<TextPiece>,
  ) {
    this.contentType = contentType
    this.about = about
    this.#first = first
    this.#rest = rest
  }

  /** Reads its first part, so that what refuses the whole is thrown before anything is sent. */
  static async begin(
    contentType: string,
    about: LongText['about'],
    parts: AsyncGenerator<TextPiece>,
  ): Promise<LongText> {
    return new LongText(contentType, about, await parts.next(), parts)
  }

  /** Once. */
  async *parts(): AsyncGenerator<TextPiece> {
    try {
      if (this.#first.done === true) return
      yield this.#first.value
      yield* this.#rest
    } finally {
      await this.close()
    }
  }

  /** Ends the reading, whether it was gone through or not. */
  async close(): Promise<void> {
    await this.#rest.return(undefined)
  }
}

/** A text that broke in the middle, behind places that are whole. */
export class BrokenText extends Error {
  override readonly name = 'BrokenText'
  /** The first that is not whole. */
  readonly where: string

  constructor(where: string, cause: unknown) {
    super(`the export broke in ${where}`, { cause })
    this.where = where
  }
}
