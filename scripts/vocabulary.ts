import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Stretch, stretchesOf } from './source-text.ts'
import { type Entry, EXCEPTIONS, type Exception, TABLE } from './vocabulary-table.ts'

/** A word of the table in a file. */
export interface Use {
  readonly file: string
  readonly line: number
  readonly word: string
  readonly instead: string
  /** The name it is a part of, or the line of prose it stands in. */
  readonly excerpt: string
}

/** Files whose words are another's: recorded answers, references, results, data, and what speaks of the table itself. */
const NOT_OURS =
  /^(?:test\/api-references\/|bench\/results\/|src\/operator\/pages\/|scripts\/vocabulary|test\/project\/vocabulary)|\.json$/
const NOT_PROSE = '\u0000'
const CODE = /\.(?:ts|mts|js|mjs)$/
/** SQL names columns, which stay. */
const SQL = /^\s*(?:select|insert|update|delete|with|create|alter|drop|lock|set|begin|grant|from|where)\b/i

const PROSE = TABLE.flatMap((entry) =>
  entry.prose === undefined
    ? []
    : [{ entry, pattern: new RegExp(entry.prose.source.replaceAll(' ', '\\s+'), 'gi') }],
)

/** The uses of the table's words in a file of this name with this content, but for the exceptions. */
export function usesIn(file: string, content: string, exceptions: readonly Exception[] = EXCEPTIONS): Use[] {
  const uses: Use[] = []
  const add = (word: string, entry: Entry, excerpt: string, at: number): void => {
    if (isExcepted(file, excerpt, exceptions)) return
    const line = content.slice(0, at).split('\n').length
    uses.push({ file, line, word, instead: entry.instead, excerpt })
  }
  const addName = (name: string, at: number): void => {
    for (const [entry, word] of wordsIn(name))
      if (entry.within?.test(file) !== false) add(word, entry, name, at)
  }
  const title = basename(file).replace(/(?:\.test)?\.\w+$/, '')
  addName(title.replaceAll(/[-.]/g, ' '), 0)
  const stretches = CODE.test(file) ? stretchesOf(content) : null
  for (const { kind, text, at } of stretches ?? []) if (kind === 'name') addName(text, at)
  const prose = stretches === null ? withoutCode(content) : proseOf(stretches, content)
  for (const { entry, pattern } of PROSE) {
    if (entry.within?.test(file) === false) continue
    for (const { 0: word, index } of prose.matchAll(pattern)) add(word, entry, lineAt(content, index), index)
  }
  return uses
}

/** Comments and strings in their places; everything else is a character that no pattern has. */
function proseOf(stretches: readonly Stretch[], content: string): string {
  let prose = ''
  for (const { kind, text, at } of stretches) {
    if (kind === 'name' || (kind === 'text' && !isProse(text))) continue
    const between = content.slice(prose.length, at)
    prose += between.trim() === '' ? between : NOT_PROSE.repeat(between.length)
    prose += withoutCode(kind === 'comment' ? withoutBorder(text) : text)
  }
  return prose
}

/** A sentence goes on over the lines of a comment. */
function withoutBorder(comment: string): string {
  return comment.replaceAll(/^\s*(?:\/?\*+|\/\/)/gm, (border) => ' '.repeat(border.length))
}

/** A string of one word is a value; one that begins as SQL names columns. */
function isProse(text: string): boolean {
  return /\S\s+\S/.test(text) && !SQL.test(text)
}

/** The same length, with spaces in place of code between backticks and of links' targets: names there are not prose. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```|`[^`\n]*`|\]\([^)\n]*\)|https?:\/\/\S+/g, (code) =>
    code.replaceAll(/[^\n]/g, ' '),
  )
}

const KNOWN = new Map<string, readonly (readonly [Entry, string])[]>()

/** The entries that a name falls under, each with the word of it that does. */
function wordsIn(name: string): readonly (readonly [Entry, string])[] {
  const known = KNOWN.get(name)
  if (known !== undefined) return known
  const parts = ` ${name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_$]/g, ' ')
    .toLowerCase()} `
  const found = TABLE.flatMap((entry): readonly (readonly [Entry, string])[] => {
    const word = entry.names?.find((word) => parts.includes(` ${word} `))
    if (entry.wholeNames?.test(name)) return [[entry, name]]
    return word === undefined ? [] : [[entry, word]]
  })
  KNOWN.set(name, found)
  return found
}

function lineAt(text: string, index: number): string {
  const end = text.indexOf('\n', index)
  return text.slice(text.lastIndexOf('\n', index) + 1, end === -1 ? undefined : end).trim()
}

function isExcepted(file: string, excerpt: string, exceptions: readonly Exception[]): boolean {
  return exceptions.some(({ what, within }) => within?.test(file) !== false && what.test(excerpt))
}

const FOLDERS = ['src', 'workers', 'packages', 'test', 'bench', 'scripts', 'examples', 'docs', 'deploy']

/** The files of the project that the table is held against. */
export function ourFiles(): string[] {
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  return [...readdirSync('.'), ...inside]
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => (CODE.test(file) || file.endsWith('.md')) && !NOT_OURS.test(file))
    .sort()
}

/** Of a changelog only the newest section: the others are as they were released. */
export function contentOf(file: string): string {
  const content = readFileSync(file, 'utf8')
  if (file !== 'CHANGELOG.md') return content
  const [head = '', newest = ''] = content.split(/^(?=## )/m)
  return head + newest
}

/** `npm run vocabulary -- [folder or file]...`: every use of a word of the table; exit code 1 when there is one. */
if (import.meta.main) {
  const wanted = process.argv.slice(2)
  const uses = ourFiles()
    .filter((file) => wanted.length === 0 || wanted.some((path) => file.startsWith(path)))
    .flatMap((file) => usesIn(file, contentOf(file)))
  for (const { file, line, word, instead, excerpt } of uses)
    console.log(`${file}:${line}: "${word.replaceAll(/\s+/g, ' ')}" -> ${instead}: ${excerpt.slice(0, 140)}`)
  console.log(`${uses.length} uses`)
  process.exitCode = uses.length === 0 ? 0 : 1
}
