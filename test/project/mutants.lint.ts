import { expect, test } from 'vitest'
import { AREAS } from '../../scripts/mutants/areas.ts'
import { mutate, readSources } from '../../scripts/mutants/mutant.ts'
import { readRed } from '../../scripts/mutants/red.ts'
import { findTestFiles } from '../support/suites.ts'

const mutants = AREAS.flatMap((area) => area.mutants)
const sources = readSources('.')

test.each(mutants)('the mutant still changes one place: $says', (mutant) => {
  const { file, text } = mutate(sources, mutant)
  expect(text).not.toBe(sources.get(file))
})

test('there are mutants of every part', () => {
  for (const area of AREAS) expect(area.mutants.length, area.name).toBeGreaterThan(5)
})

test('the file that sees a mutant is one of npm test', () => {
  const files = findTestFiles().flatMap(({ path, isLong }) => (isLong ? [] : [path]))
  for (const { test: file } of mutants) if (file !== undefined) expect(files).toContain(file)
})

test('a red run names its first test, and whether that says what is wrong', () => {
  const file = 'test/ledger/ledger.test.ts'
  const head = '\n⎯⎯⎯ Failed Tests 1 ⎯⎯⎯\n\n'
  expect(readRed(`${head} FAIL  |shared| ${file} > a > b\nAssertionError: expected 1 to be 2\n`)).toEqual({
    by: `${file} > a > b`,
    file,
    how: 'failed',
  })
  expect(readRed(`${head} FAIL  ${file} > a > b\nError: Test timed out in 120000ms.\n`)).toMatchObject({
    file,
    how: 'timed_out',
  })
  expect(readRed(` FAIL  ${file} [ ${file} ]\nSyntaxError: unexpected\n`)).toMatchObject({ how: 'crashed' })
  expect(readRed('Error: no memory\n')).toEqual({ by: 'Error: no memory', file: null, how: 'crashed' })
})
