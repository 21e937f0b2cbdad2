import { expect, test } from 'vitest'
import { AREAS } from '../../scripts/mutants/areas.ts'
import { mutate, readSources } from '../../scripts/mutants/mutant.ts'
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
