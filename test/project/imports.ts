import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** One import, or export from elsewhere: `file` and `what` are paths from the project's root, or `what` is a package. */
export interface Import {
  readonly file: string
  readonly what: string
}

/** The TypeScript files of these folders, from the project's root. */
function filesIn(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  )
}

export const SOURCES = filesIn(['src', 'workers'])

/** The libraries of `packages/`, without their tests. */
export const LIBRARIES: readonly string[] = readdirSync('packages')
export const LIBRARY_FILES = filesIn(LIBRARIES.map((name) => join('packages', name, 'src')))

export function linesOf(file: string): number {
  return readFileSync(file, 'utf8').trimEnd().split('\n').length
}

/** All imports of these files, types included, dynamic ones too. */
function importsOf(files: readonly string[]): readonly Import[] {
  return files.flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(
        /^(?:import|export)[^'"]*?from '([^']+)'|\bimport\(?\s*'([^']+)'/gm,
      ),
    ].map((match) => {
      const what = match[1] ?? match[2] ?? ''
      const path = what.replace(/^#([^/]+)/, 'packages/$1/src')
      return { file, what: what.startsWith('.') ? relative('.', join(dirname(file), what)) : path }
    }),
  )
}

export const IMPORTS = importsOf([...SOURCES, ...LIBRARY_FILES])
export const BENCH_FILES = filesIn(['bench'])
export const BENCH_IMPORTS = importsOf(BENCH_FILES)

/** `src/pricing/catalog/x.ts` is in the room `pricing`, `workers/x.ts` in `workers`. */
export function roomOf(file: string): string {
  const [top = '', room = ''] = file.split('/')
  return top === 'src' ? room : top
}

/** The groups of files that import each other in a circle. */
export function findCircles(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>()
  for (const { file, what } of imports) next.set(file, [...(next.get(file) ?? []), what])
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  function visit(file: string): number {
    const index = order.size
    order.set(file, index)
    let lowest = index
    stack.push(file)
    for (const other of next.get(file) ?? []) {
      if (other === file) circles.push([file])
      else if (!order.has(other)) lowest = Math.min(lowest, visit(other))
      else if (stack.includes(other)) lowest = Math.min(lowest, order.get(other) ?? index)
    }
    low.set(file, lowest)
    if (lowest === index) {
      const group = stack.splice(stack.indexOf(file))
      if (group.length > 1) circles.push(group)
    }
    return lowest
  }
  for (const file of next.keys()) if (!order.has(file)) visit(file)
  return circles
}
