/** A stretch of a source file that is of one kind, and where it begins. */
export interface Stretch {
  readonly kind: 'name' | 'comment' | 'text'
  readonly text: string
  /** The offset of its first character in the file. */
  readonly at: number
}

const NAME = /[A-Za-z_$][\w$]*/y
const LINE_COMMENT = /\/\/[^\n]*/y
const BLOCK_COMMENT = /\/\*[\s\S]*?\*\//y
const QUOTED = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y
const NUMBER = /\d[\w.]*/y
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y
/** After these a slash divides. After anything else it begins a regular expression. */
const ENDS_VALUE = /[\w$)\]}'"`]$/
const BEFORE_REGEX = /\b(?:return|typeof|case|in|of|do|else|void|await|yield|throw|new|delete)$/

/**
 * The names, comments and string contents of TypeScript or JavaScript, in order. Keywords count as names. Regular
 * expressions and numbers are left out. A template gives one stretch for each part between its expressions.
 */
export function stretchesOf(source: string): Stretch[] {
  const found: Stretch[] = []
  /** For each template that is open: how many braces are open in its current expression. */
  const templates: number[] = []
  let at = 0

  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    return pattern.exec(source)?.[0] ?? null
  }
  const add = (kind: Stretch['kind'], length: number, trim = 0): void => {
    found.push({ kind, text: source.slice(at + trim, at + length - trim), at: at + trim })
    at += length
  }
  const readTemplate = (): void => {
    let end = at
    while (end < source.length && source[end] !== '`' && !source.startsWith('${', end))
      end += source[end] === '\\' ? 2 : 1
    found.push({ kind: 'text', text: source.slice(at, end), at })
    const closes = source[end] === '`'
    at = end + (closes ? 1 : 2)
    if (!closes) templates.push(0)
  }

  while (at < source.length) {
    const comment = match(LINE_COMMENT) ?? match(BLOCK_COMMENT)
    if (comment !== null) {
      add('comment', comment.length)
      continue
    }
    const quoted = match(QUOTED)
    if (quoted !== null) {
      add('text', quoted.length, 1)
      continue
    }
    const name = match(NAME)
    if (name !== null) {
      add('name', name.length)
      continue
    }
    const skipped = match(NUMBER) ?? (beginsRegex(source, at) ? match(REGEX) : null)
    if (skipped !== null) {
      at += skipped.length
      continue
    }
    const character = source[at]
    at += 1
    const depth = templates.at(-1)
    if (character === '`') readTemplate()
    else if (depth !== undefined && character === '{') templates[templates.length - 1] = depth + 1
    else if (depth !== undefined && character === '}') {
      if (depth > 0) templates[templates.length - 1] = depth - 1
      else {
        templates.pop()
        readTemplate()
      }
    }
  }
  return found
}

function beginsRegex(source: string, at: number): boolean {
  if (source[at] !== '/') return false
  const before = source.slice(Math.max(0, at - 40), at).trimEnd()
  return !ENDS_VALUE.test(before) || BEFORE_REGEX.test(before)
}
