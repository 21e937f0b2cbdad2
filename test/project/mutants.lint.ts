import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AREAS } from '../../scripts/mutants/areas.ts'
import { mutate } from '../../scripts/mutants/mutant.ts'

test('every mutant still changes what it says', () => {
  const mutants = AREAS.flatMap((area) => area.mutants)
  expect(mutants.length).toBeGreaterThan(35)
  for (const mutant of mutants) {
    const source = readFileSync(mutant.file, 'utf8')
    expect(mutate(source, mutant)).not.toBe(source)
  }
})
