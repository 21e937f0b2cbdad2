import { stripTypeScriptTypes } from 'node:module'
import { posix } from 'node:path'

/** A name of one of our programs or modules as a literal: `'./x.ts'`, `'src/x/y.ts'`, `'#x/y.ts'`. */
const OWN_FILE = /(['"`])((?:\.{1,2}|src|workers|#[\w-]+)\/[^'"`\s$]*)\.ts\1/g
const LEFT_OVER = /^(?!\s*(?:\/\/|\/?\*)).*\.ts['"`]/m

/**
 * Makes JavaScript of one of our files: types become spaces, so that lines and columns stay, and names of our own files
 * get the ending that they have in the package, wherever they stand: imports, threads, programs, `--import`.
 *
 * @param path from the project's root, with slashes
 * @param files all files of the package, as they are in the project
 * @throws Error when it names a file that the package lacks, or one in a way that is not found here
 */
export function stripTypes(path: string, text: string, files: ReadonlySet<string>): string {
  const stripped = path.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text
  const renamed = stripped.replace(OWN_FILE, (_, quote: string, name: string) => {
    const file = name.startsWith('.')
      ? posix.join(posix.dirname(path), name)
      : name.replace(/^#([^/]+)/, 'packages/$1/src')
    if (!files.has(`${file}.ts`)) throw new Error(`${path} names ${name}.ts, which the package lacks`)
    return `${quote}${name}.js${quote}`
  })
  const left = LEFT_OVER.exec(renamed)
  if (left !== null) throw new Error(`${path} names a TypeScript file in a way of its own: ${left[0].trim()}`)
  return renamed
}
