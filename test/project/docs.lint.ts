import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anchorOf, proseOf, sentencesIn, wordsIn } from '../../scripts/prose.ts'

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

function textOf(page: string): string {
  return proseOf(readFileSync(page, 'utf8'))
}

function anchorsIn(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
}

/** Files and folders of ours that a page names in code style: `src/call/usage.ts`. `NAME` is one that is still to be made. */
function pathsIn(page: string): string[] {
  const named = textOf(page).matchAll(
    /`((?:src|workers|packages|test|bench|docs|scripts|examples|deploy)\/[\w./-]*)`/g,
  )
  return [...named].map(([, path = '']) => path)
}

describe.each(PAGES)('%s', (page) => {
  test('has lines of at most 110 columns', () => {
    const long = textOf(page)
      .split('\n')
      .filter((line) => line.length > WIDTH && !LONG_WORD.test(line))
    expect(long).toEqual([])
  })

  test('links to files and headings that exist', () => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(
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

function longSentencesIn(text: string): string[] {
  return sentencesIn(text).filter((sentence) => wordsIn(sentence) > MOST_WORDS)
}

test.each([
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...PAGES.filter((page) => /^(?:docs|examples)\//.test(page)),
])(`%s has sentences of at most ${MOST_WORDS} words`, (page) => {
  expect(longSentencesIn(textOf(page))).toEqual([])
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
      [...textOf(page).matchAll(/\]\(([^)#\s]+)/g)].map(([, path = '']) => join(dirname(page), path)),
    ),
  )
  const alone = PAGES.filter((page) => page.startsWith('docs/') && !page.startsWith('docs/decisions/'))
  expect(alone.filter((page) => !linked.has(page))).toEqual([])
})
