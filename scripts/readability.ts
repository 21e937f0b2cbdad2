// How the pages of docs/ read: `npm run readability`, or of two states: `npm run readability -- 105faaa8 HEAD`.
import { execFileSync } from 'node:child_process'
import nlp from 'compromise'
import { proseOf, sentencesIn, wordsIn } from './prose.ts'

const MANY_WORDS = 25

interface Reading {
  readonly page: string
  readonly sentences: readonly { readonly words: number; readonly beforeVerb: number | null }[]
}

function git(...words: string[]): string {
  return execFileSync('git', words, { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/**
 * Words between the beginning of a sentence, or the label and colon that begin it, and its first finite verb as the
 * tagger of `compromise` sees it: each clause before the verb adds to them. `null`: it has no verb.
 */
function wordsBeforeVerb(sentence: string): number | null {
  const [tagged] = nlp(sentence.replaceAll('`code`', 'Code').replace(/[[\]*]/g, '')).json()
  let words = 0
  for (const { tags, post } of tagged?.terms ?? []) {
    const isOther = tags.includes('Infinitive') || tags.includes('Gerund')
    if (tags.includes('Verb') && !isOther) return words
    words = post.includes(':') ? 0 : words + 1
  }
  return null
}

function read(revision: string): readonly Reading[] {
  const pages = git('ls-tree', '-r', '--name-only', revision, 'README.md', 'docs')
    .split('\n')
    .filter((name) => name.endsWith('.md'))
  return pages.map((page) => ({
    page,
    sentences: sentencesIn(proseOf(git('show', `${revision}:${page}`))).map((sentence) => ({
      words: wordsIn(sentence),
      beforeVerb: wordsBeforeVerb(sentence),
    })),
  }))
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

function rowOf({ page, sentences }: Reading): string {
  const words = sentences.map((sentence) => sentence.words)
  const before = sentences.flatMap(({ beforeVerb }) => (beforeVerb === null ? [] : [beforeVerb]))
  const long = words.filter((count) => count > MANY_WORDS).length / words.length
  const figures = [
    `${words.reduce((sum, one) => sum + one, 0)}`,
    `${words.length}`,
    mean(words).toFixed(1),
    `${(100 * long).toFixed(1)} %`,
    mean(before).toFixed(1),
  ]
  return `| ${[page, ...figures].join(' | ')} |`
}

for (const revision of process.argv.length > 2 ? process.argv.slice(2) : ['HEAD']) {
  const readings = read(revision)
  console.log(`\n## ${revision}\n`)
  console.log(
    `| page | words | sentences | words a sentence | over ${MANY_WORDS} words | words before the verb |`,
  )
  console.log('|---|---:|---:|---:|---:|---:|')
  for (const reading of readings) console.log(rowOf(reading))
  console.log(rowOf({ page: 'all', sentences: readings.flatMap(({ sentences }) => sentences) }))
}
