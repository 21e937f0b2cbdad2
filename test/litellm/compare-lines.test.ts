import { expect, test } from 'vitest'
import { compareLines, type Line, sharedModel } from '../../src/litellm/compare/compare-lines.ts'

const line = (change: Partial<Line> = {}): Line => ({
  day: '2026-11-20',
  key: 'a',
  model: 'gpt-4o-mini',
  calls: 100n,
  inputTokens: 10_000n,
  outputTokens: 5_000n,
  costPico: 4_500_000_000n,
  ...change,
})
const classesOf = (theirs: readonly Line[], ours: readonly Line[], tolerance = 0.01) =>
  compareLines(theirs, ours, tolerance).map(({ difference }) => difference)

test.each([
  ['the same', {}, 'same'],
  ['of one call more', { calls: 101n }, 'same'],
  ['of five calls more', { calls: 105n }, 'calls'],
  ['of other tokens', { inputTokens: 9_000n }, 'tokens'],
  ['of another price', { costPico: 5_000_000_000n }, 'price'],
] as const)('a line that is %s is named by the first figure that differs', (_, change, difference) => {
  expect(classesOf([line()], [line(change)])).toEqual([difference])
})

test('a line of one side is missing at the other', () => {
  expect(classesOf([line()], [])).toEqual(['missing_here'])
  expect(classesOf([], [line()])).toEqual(['missing_there'])
})

test('without a tolerance only what floats lose is the same', () => {
  expect(classesOf([line()], [line({ costPico: 4_500_000_001n })], 0)).toEqual(['same'])
  expect(classesOf([line()], [line({ costPico: 4_500_010_000n })], 0)).toEqual(['price'])
})

test('only amounts of money lose anything by being floats: calls and tokens are counted', () => {
  const many = { calls: 2_000_000n, inputTokens: 3_000_000n, outputTokens: 4_000_000n }
  expect(classesOf([line(many)], [line({ ...many, calls: 2_000_001n })], 0)).toEqual(['calls'])
  expect(classesOf([line(many)], [line({ ...many, inputTokens: 3_001_000n })], 0)).toEqual(['tokens'])
  expect(classesOf([line(many)], [line({ ...many, outputTokens: 3_999_001n })], 0)).toEqual(['tokens'])
})

test('models meet under one name, whatever provider or revision is written around it', () => {
  expect(
    ['openai/gpt-4o-mini', 'gpt-4o-mini-2024-07-18', 'vertex_ai/claude-sonnet-4@20250514'].map(sharedModel),
  ).toEqual(['gpt-4o-mini', 'gpt-4o-mini', 'claude-sonnet-4'])
  const theirs = [line({ model: 'openai/gpt-4o-mini', calls: 40n }), line({ calls: 60n })]
  const [found] = compareLines(theirs, [line({ model: 'gpt-4o-mini-2024-07-18' })], 0)
  expect(found).toMatchObject({ model: 'gpt-4o-mini', theirs: { calls: 100n }, ours: { calls: 100n } })
})
