/** A command could not do what it was asked: one line on stderr, exit code 1. */
export class Failure extends Error {
  override readonly name = 'Failure'
}
