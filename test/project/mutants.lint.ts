import { expect, test } from 'vitest'
import { AREAS } from '../../scripts/mutants/areas.ts'
import { mutate, readSources } from '../../scripts/mutants/mutant.ts'

const mutants = AREAS.flatMap((area) => area.mutants)
const sources = readSources('.')

test.each(mutants)('the mutant still changes one place: $says', (mutant) => {
  const { file, text } = mutate(sources, mutant)
  expect(text).not.toBe(sources.get(file))
})

test('there are mutants of every part', () => {
  expect(mutants.length).toBeGreaterThan(35)
})
