import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A change that breaks the product, and which the tests have to see. */
export interface Mutant {
  /** Stands exactly once in the sources, in whatever file: code may move. */
  readonly find: string
  readonly replace: string
  /** What a user would get. */
  readonly says: string
  /** The file that sees it, where the unit tests of its area do not. */
  readonly test?: string
}

/** Mutants of one part of the product. */
export interface Area {
  readonly name: string
  /** Files or folders whose unit tests look at it first. */
  readonly tests: readonly string[]
  readonly mutants: readonly Mutant[]
}

/** Text by path, from the project's root. */
export type Sources = ReadonlyMap<string, string>

/** What mutants change, in the project at `root`. */
export function readSources(root: string): Sources {
  const names = ['src', 'workers', 'packages'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const programs = names.filter((name) => name.endsWith('.ts'))
  return new Map(programs.map((name) => [name, readFileSync(join(root, name), 'utf8')]))
}

/** The file with the change; throws where what it changes does not stand exactly once in all of them. */
export function mutate(
  sources: Sources,
  { find, replace }: Mutant,
): { readonly file: string; readonly text: string } {
  const found = [...sources].flatMap(([file, text]) =>
    Array(text.split(find).length - 1).fill({ file, text }),
  )
  const [only] = found
  if (only === undefined || found.length > 1) throw new RangeError(`${found.length} times, not once: ${find}`)
  return { file: only.file, text: only.text.replace(find, () => replace) }
}
