import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

const FOLDERS = ['docs', 'examples', 'src', 'workers', 'packages', 'test', 'bench']

/** Pages that people write; `bench/results` is written by programs. */
const PAGES = [
  ...readdirSync('.'),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ),
].filter((name) => name.endsWith('.md') && !name.startsWith('bench/results/'))

const WIDTH = 110
/** A word that no line can hold beside its bullet. */
const LONG_WORD = /\S{90,}/

/** A page without its code blocks. */
function proseOf(page: string): string {
  return readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
}

/** The anchor that a heading gets where Markdown is shown. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

function anchorsIn(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
}

/** Files and folders of ours that a page names in code style: `src/call/usage.ts`. `NAME` is one that is still to be made. */
function pathsIn(page: string): string[] {
  const named = proseOf(page).matchAll(
    /`((?:src|workers|packages|test|bench|docs|scripts|examples|deploy)\/[\w./-]*)`/g,
  )
  return [...named].map(([, path = '']) => path)
}

describe.each(PAGES)('%s', (page) => {
  test('has lines of at most 110 columns', () => {
    const long = proseOf(page)
      .split('\n')
      .filter((line) => line.length > WIDTH && !LONG_WORD.test(line))
    expect(long).toEqual([])
  })

  test('links to files and headings that exist', () => {
    const links = [...proseOf(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(
      ([, link = '']) => link,
    )
    const dead = links.filter((link) => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      if (!existsSync(target)) return true
      return anchor !== undefined && target.endsWith('.md') && !anchorsIn(target).includes(anchor)
    })
    expect(dead).toEqual([])
  })
})

/** Words that a reader still holds together at one reading. */
const MOST_WORDS = 25

/** Texts whose last sentence ends with them: paragraphs, items of lists, cells of tables. */
function blocksOf(text: string): string[] {
  const lines = text.replace(/^<!-- figures:[\s\S]*?^<!-- \/figures -->$/gm, '').split('\n')
  const blocks: string[] = ['']
  for (const line of lines) {
    const item = /^\s*(?:>\s*)?(?:[-*]|1?\d\.)\s+(.*)$/.exec(line)
    if (/^(?:\s*|#+ .*)$/.test(line)) blocks.push('')
    else if (/^\s*\|/.test(line)) blocks.push(...line.split(/(?<!\\)\|/), '')
    else if (item !== null) blocks.push(item[1] ?? '')
    else blocks.push(`${blocks.pop()} ${line.replace(/^\s*>? */, '')}`)
  }
  return blocks
}

/** Code, and names of it with commas between, are one word; so is the text of a link with its address. */
function withoutCode(block: string): string {
  return block.replace(/`[^`]+`(?:, (?:and |or )?`[^`]+`)*/g, '`code`').replace(/\]\([^)]*\)/g, ']')
}

function longSentencesIn(text: string): string[] {
  return blocksOf(text)
    .flatMap((block) =>
      withoutCode(block).split(/(?<=[.!?]["”’)*]*)\s+(?=[\p{Lu}\d"“([`*]|npm\b|xAI\b|esbuild\b)/u),
    )
    .filter(
      (sentence) => sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}`]/u.test(word)).length > MOST_WORDS,
    )
}

test.each([
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...PAGES.filter((page) => /^(?:docs|examples)\//.test(page)),
])(`%s has sentences of at most ${MOST_WORDS} words`, (page) => {
  expect(longSentencesIn(proseOf(page))).toEqual([])
})

test('a long sentence is seen over lines, in lists and in cells, and code is one word', () => {
  const long = Array.from({ length: 13 }, () => 'two words').join('\n')
  expect(longSentencesIn(long)).toHaveLength(1)
  expect(longSentencesIn(`Short. ${long}. Short.`)).toHaveLength(1)
  expect(longSentencesIn(`- ${long}\n- short\n\n| ${long.replaceAll('\n', ' ')} | short |`)).toHaveLength(2)
  expect(longSentencesIn(`${'`many words of code`, '.repeat(40)}${long.slice(10)}`)).toEqual([])
})

/** The changelog names what was there. */
test.each(
  PAGES.filter((page) => page !== 'CHANGELOG.md'),
)('%s names files and folders that exist', (page) => {
  expect(pathsIn(page).filter((path) => !path.includes('NAME') && !existsSync(path))).toEqual([])
})

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))

test.each(PAGES)('%s names npm scripts that exist', (page) => {
  const named = [...readFileSync(page, 'utf8').matchAll(/npm run (?:-s )?([a-z\d]+(?::[a-z\d]+)*)/g)]
  expect(named.map(([, name = '']) => name).filter((name) => !(name in scripts))).toEqual([])
})

test('every page of docs is linked from the README or from another page', () => {
  const linked = new Set(
    PAGES.flatMap((page) =>
      [...proseOf(page).matchAll(/\]\(([^)#\s]+)/g)].map(([, path = '']) => join(dirname(page), path)),
    ),
  )
  const alone = PAGES.filter((page) => page.startsWith('docs/') && !page.startsWith('docs/decisions/'))
  expect(alone.filter((page) => !linked.has(page))).toEqual([])
})
