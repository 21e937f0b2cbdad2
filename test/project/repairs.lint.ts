import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ENVIRONMENT } from '../../src/config/config.ts'
import { run } from '../cli/command-line.ts'
import { SOURCES } from './imports.ts'

/** Where findings of `doctor` are worded. */
const FILES = SOURCES.filter((file) =>
  /\/conditions?(\/|\.ts$)|\/redis-probe\/|^src\/doctor\/gateway/.test(file),
)

/** The text of every call that makes a finding or alert with something to do, and of every constant or list of hints. */
const WORDED = FILES.flatMap((file) => {
  const source = readFileSync(file, 'utf8')
  const made = [...source.matchAll(/\b(?:failure|warning|dead|okOrWarning|finding|withRepair)\)?\(/g)].map(
    ({ index }) => ({ file, text: within(source, source.indexOf('(', index + 4)) }),
  )
  const listed = [...source.matchAll(/(?:\bmend: ['"`]|^ {2}\w+:\s+['"`]).*$/gm)].map(([text]) => ({
    file,
    text,
  }))
  const named = [...source.matchAll(/^const (?:REPAIR|repair)\w*[\s\S]*?(?=\n(?:\n|const |\/\*\*))/gm)].map(
    ([text]) => ({ file, text }),
  )
  return [...made, ...listed, ...named]
})

/** From an opening bracket to the one that closes it. */
function within(source: string, from: number): string {
  let depth = 0
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '(') depth += 1
    if (source[at] === ')') depth -= 1
    if (depth === 0) return source.slice(from, at)
  }
  return source.slice(from)
}

const SQL =
  /\b(select \w+|insert into|update \w+ set|delete from|truncate|alter (table|database)|drop (table|database)|create (table|index))\b/i

test('no finding asks for a statement of SQL', () => {
  expect(WORDED.length).toBeGreaterThan(50)
  expect(WORDED.filter(({ text }) => SQL.test(text))).toEqual([])
})

/** Texts of the sources, without what is filled in. */
const TEXTS = WORDED.flatMap(({ text }) =>
  [...text.matchAll(/'((?:[^'\\\n]|\\.)*)'|`([^`]*)`|"([^"\n]*)"/g)].map(([, single, template, double]) =>
    (single ?? template ?? double ?? '').replace(/\$\{[^}]*\}/g, 'X'),
  ),
)

const OF_NODE = ['NODE_EXTRA_CA_CERTS']

test('every variable that a finding names is one of ours', () => {
  const named = TEXTS.flatMap((text) => text.match(/\b[A-Z]+(?:_[A-Z]+)+\b(?!_\*)/g) ?? [])
  const ours = new Set([...ENVIRONMENT.map(({ name }) => name as string), ...OF_NODE])
  expect(named.length).toBeGreaterThan(10)
  expect([...new Set(named)].filter((name) => !ours.has(name))).toEqual([])
})

const COMMANDS = [
  ...new Set(
    WORDED.flatMap(({ text }) =>
      [...text.matchAll(/\btallygate ((?!is\b|are\b)[a-z][a-z-]*(?: [a-z][a-z-]*(?=[ '"`;,]|$))?)/g)].map(
        ([, words = '']) => words,
      ),
    ),
  ),
].sort()

test('what there is to do is named with its program', () => {
  const unnamed =
    /(?<!tallygate )\b(?:doctor|(?:ledger|dead-letters|prices|producers|journal) [a-z-]+(?=[.,;: ]|$))/
  const said = TEXTS.filter((text) => /\bsee\b|: (?:doctor|ledger|dead-letters|prices) /i.test(text))
  expect(said.length).toBeGreaterThan(3)
  expect(said.filter((text) => unnamed.test(text))).toEqual([])
})

test('findings name commands in full', () => {
  expect(COMMANDS).toContain('kafka off')
  expect(COMMANDS).toContain('reload')
})

test.each(COMMANDS)('the command of a finding is there: tallygate %s', async (words) => {
  const { code, out } = await run({}, ...words.split(' '), '--help')
  expect(code).toBe(0)
  expect(out).toMatch(new RegExp(`^Usage: tallygate ${words} `))
})
