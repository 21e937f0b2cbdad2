import { expect, test } from 'vitest'
import { readModelName } from '../../../src/domain/model-name.ts'
import type { CatalogModel } from '../../../src/pricing/catalog/catalog-entries.ts'
import { layersOf } from '../../../src/pricing/catalog/catalog-find.ts'
import { compileMatch } from '../../../src/pricing/catalog/catalog-match.ts'
import { indexOf } from '../../../src/pricing/catalog/model-index.ts'
import { bundledCatalog } from '../../../src/pricing/sources/catalog-sources.ts'

const ENDINGS = ['', '-2025-01-02', '-latest', '@20250102', '-v1:0', '-mini']

const lists = layersOf(bundledCatalog())
  .flatMap(({ providers }) => [...providers.values()].map(({ models }) => models))
  .filter((models) => models.length < 130)

test('no model that fits a name is left out, and they come in the order of the list', () => {
  let names = 0
  for (const models of lists) {
    for (const { id } of models) {
      for (const ending of ENDINGS) {
        const name = readModelName(id + ending)
        if (name === null) continue
        names += 1
        const fits = ({ id: own, matches }: CatalogModel) =>
          own.toLowerCase() === name.text || matches(name) !== 'none'
        expect(indexOf(models).candidates(name).filter(fits)).toEqual(models.filter(fits))
      }
    }
  }
  expect(names).toBeGreaterThan(5_000)
})

test('a rule is a list of names only where each of its parts is one', () => {
  const equals = (name: string) => ({ equals: name })
  expect(compileMatch({ or: [equals('A'), { or: [equals('b')] }] })?.texts).toEqual(['a', 'b'])
  expect(compileMatch({ or: [equals('a'), { starts_with: 'b' }] })?.texts).toBeUndefined()
  expect(compileMatch({ and: [equals('a'), { contains: 'a' }] })?.texts).toBeUndefined()
})
