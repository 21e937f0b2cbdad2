import { describe, expect, test } from 'vitest'
import { stretchesOf } from '../../scripts/source-text.ts'
import { contentOf, ourFiles, usesIn } from '../../scripts/vocabulary.ts'
import { EXCEPTIONS, TABLE } from '../../scripts/vocabulary-table.ts'

const FILES = ourFiles().map((file) => [file, contentOf(file)] as const)

test('the project uses no word of the left column', () => {
  const uses = FILES.flatMap(([file, content]) => usesIn(file, content))
  expect(uses.map(({ file, line, word, instead }) => `${file}:${line}: ${word} -> ${instead}`)).toEqual([])
})

test('every exception is still needed', () => {
  const excepted = FILES.flatMap(([file, content]) => usesIn(file, content, []))
  const unused = EXCEPTIONS.filter(
    ({ what, within }) =>
      !excepted.some(({ file, excerpt }) => within?.test(file) !== false && what.test(excerpt)),
  )
  expect(unused.map(({ reason, what }) => `${what}: ${reason}`)).toEqual([])
})

/** A file for which every entry of the table holds. */
const FILE = 'src/gateway/proxy/file.ts'

const NAMES = TABLE.flatMap(({ names = [], instead, within }) =>
  names.map((name) => [name, instead, within] as const),
)

test.each(NAMES)('the name %s is found: %s', (words, _instead, within) => {
  const file = within === undefined || within.test(FILE) ? FILE : 'src/ledger/file.ts'
  const camelCase = words.replaceAll(/ (\w)/g, (_, letter: string) => letter.toUpperCase())
  const inside = `is${words.replaceAll(/(?:^| )(\w)/g, (_, letter: string) => letter.toUpperCase())}Now`
  for (const name of [camelCase, inside, `#${inside}`, words.replaceAll(' ', '_').toUpperCase()]) {
    const found = usesIn(file, `class A { b = this.${name} }`, [])
    expect(found.map(({ word }) => word)).toContain(words)
  }
})

test.each([
  'a hole in the journal',
  'a void is shipped',
  'the mark moves',
  'marks are read every second',
  'a tombstone is written',
  'takes it into care',
  'the producer lives',
  'a sign of life',
  'what the answer told',
  'a telling event',
  'the gatherer of a dialect',
  'a heap of crumbs',
  'quirks of a provider',
  'habits of billing',
  'usage is noted',
  'a note of the call',
  'Redis forgets',
  'what was forgotten',
  'kicks the shipper',
  'a fruitless check',
  'lets it go',
  'the lock is let go',
  'a farewell',
  'takes its leave',
  'the whereabouts of servers',
  'a keyless URL',
  'the folder is set aside',
  'a stranger’s journal',
  'Postgres went back',
  'Postgres falls back',
  'all stations of a call',
  'the next look',
  'how to mend it',
  'shakes hands',
  'the facts of a call',
  'one question at a time',
  'calm weather',
  'a storm of calls',
  'some misfortune',
  'in a hurry',
  'the upstream’s own word',
  'somebody else',
  'nobody knows',
  'whoever asks',
  'made anew',
  'this is no file',
])('the prose "%s" is found in comments, strings and pages', (prose) => {
  expect(usesIn(FILE, `// ${prose}`).length).toBeGreaterThan(0)
  expect(usesIn(FILE, `log.warn('so ${prose}.')`).length).toBeGreaterThan(0)
  expect(usesIn(FILE, `const text = \`so ${prose}: \${reason}\``).length).toBeGreaterThan(0)
  expect(usesIn('docs/page.md', `So ${prose}.`).length).toBeGreaterThan(0)
})

test('prose that goes on over the lines of a comment is found', () => {
  expect(usesIn(FILE, '/**\n * The folder is set\n * aside.\n */')).toMatchObject([{ line: 2 }])
  expect(usesIn(FILE, '  // the lock is let\n  // go at once')).toMatchObject([{ line: 1 }])
})

test('whole names of types are found', () => {
  expect(usesIn(FILE, 'type A = Kept')).toMatchObject([{ word: 'Kept' }])
  expect(usesIn(FILE, 'interface CallParts {}')).toMatchObject([{ word: 'CallParts' }])
})

test('the name of a file is held to the table too', () => {
  expect(usesIn('src/ledger/tombstone-watch.ts', '')).toMatchObject([{ word: 'tombstone' }])
})

describe('what is not a use', () => {
  test.each([
    ['a column', 'row.told_by'],
    ['the keyword void', 'function run(): void {}'],
    ['code between backticks', '// the key `void` of a body'],
    ['a value of one word', "const kind = 'void'"],
    ['SQL', 'const text = `select mark from producers`'],
    ['a byte order mark', '// a byte order mark'],
    ['a question mark', '// behind the question mark'],
    ['no longer', '// it is no longer there'],
    ['a fallback', '// falls back to the class it is part of'],
  ])('%s is not a use', (_what, source) => {
    expect(usesIn(FILE, source)).toEqual([])
  })
})

test('source is cut into names, comments and strings', () => {
  const source = [`const a = /b'"/.test(\`c \${d({ e })} f\`) // g`, `/* h */ x / y / 'i\\'j'`].join('\n')
  expect(stretchesOf(source).map(({ kind, text }) => [kind, text.trim()])).toEqual([
    ['name', 'const'],
    ['name', 'a'],
    ['name', 'test'],
    ['text', 'c'],
    ['name', 'd'],
    ['name', 'e'],
    ['text', 'f'],
    ['comment', '// g'],
    ['comment', '/* h */'],
    ['name', 'x'],
    ['name', 'y'],
    ['text', "i\\'j"],
  ])
  for (const { text, at } of stretchesOf(source)) expect(source.slice(at, at + text.length)).toBe(text)
})
