import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BILLED_APART_PATHS, FREE_PATHS, REFUSED_PATHS } from '../../src/providers/paths/known-paths.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { selectDialect } from '../../src/providers/registry.ts'

/** The sets an operation stands in; whatever is refused never gets to be read. */
function setsOf(provider: Provider, method: string, path: string): readonly string[] {
  if (REFUSED_PATHS.find(provider, method, path) !== null) return ['refused']
  if (selectDialect(provider, method, path) !== null) return ['metered']
  if (method === 'GET' || method === 'DELETE') return ['free']
  const sets = FREE_PATHS.find(provider, method, path) === null ? [] : ['free']
  return BILLED_APART_PATHS.find(provider, method, path) === null ? sets : [...sets, 'billed apart']
}

for (const provider of ['openai', 'anthropic', 'gemini'] as const) {
  test(`every operation of ${provider} is metered, free, billed apart or refused, and only one of them`, () => {
    const lines = readFileSync(`test/api-references/${provider}.txt`, 'utf8').trim().split('\n').slice(1)
    const wrong = lines.flatMap((line) => {
      const [method = '', path = ''] = line.replaceAll('{id}', 'abc-1').split(' ')
      const sets = setsOf(provider, method, path)
      return sets.length === 1 ? [] : [`${line}: ${sets.join(' and ') || 'none'}`]
    })
    expect(lines.length).toBeGreaterThan(200)
    expect(wrong).toEqual([])
  })
}

test('a path that nobody knows is in none of the sets', () => {
  expect(setsOf('openai', 'POST', '/v1/brand_new')).toEqual([])
})
