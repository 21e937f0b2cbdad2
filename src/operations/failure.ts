/** A command could not do what it was asked: one line on stderr, exit code 1. */
export class Failure extends Error {
  override readonly name = 'Failure'
  /** For programs, in the error of `--json`: the name of an error of HTTP, such as `not_found`. */
  readonly code: string

  constructor(message: string, options: ErrorOptions & { readonly code?: string } = {}) {
    super(message, options)
    this.code = options.code ?? 'failed'
  }
}
