import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FIGURES, figuresOf, PAGES, withFigures } from '../../scripts/figures/pages.ts'

test.each(PAGES)('%s quotes the figures that bench/results has', (page) => {
  const text = readFileSync(page, 'utf8')
  expect(figuresOf(text).length).toBeGreaterThan(0)
  expect(text, 'npm run figures writes them').toBe(withFigures(text))
})

test('each rendering of figures is quoted by a page', () => {
  const quoted = PAGES.flatMap((page) => figuresOf(readFileSync(page, 'utf8')))
  expect(quoted.toSorted()).toEqual(Object.keys(FIGURES).toSorted())
})

test('a figure that was written by hand is seen', () => {
  const page = withFigures('<!-- figures:overhead:parts -->\n<!-- /figures -->')
  expect(withFigures(page)).toBe(page)
  const wrong = page.replace(/\| gateway \| \d+/, '| gateway | 1')
  expect(wrong).not.toBe(page)
  expect(withFigures(wrong)).toBe(page)
})
