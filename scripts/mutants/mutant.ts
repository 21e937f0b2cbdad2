/** A change that breaks the product, and which the tests have to see. */
export interface Mutant {
  /** From the project's root. */
  readonly file: string
  /** Stands exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** What a user would get. */
  readonly says: string
}

/** Mutants of one part of the product, and the tests that look at it first: files or folders. */
export interface Area {
  readonly name: string
  readonly tests: readonly string[]
  readonly mutants: readonly Mutant[]
}

/** `source` with the change; throws where what it changes does not stand there exactly once. */
export function mutate(source: string, { file, find, replace }: Mutant): string {
  const times = source.split(find).length - 1
  if (times !== 1) throw new RangeError(`${file} has ${times} times, not once: ${find}`)
  return source.replace(find, () => replace)
}
