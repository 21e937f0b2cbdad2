import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { COMPILED_FOLDER } from '../../src/lib/compile-cache.ts'
import { findTestFiles, pathsOf } from '../support/suites.ts'

test('tests that need no server and no program are found by what they import', () => {
  const found = pathsOf(findTestFiles(), ({ isUnit }) => isUnit)
  expect(found).toContain('test/pricing/price.test.ts')
  expect(found).not.toContain('test/rollup/roll-up.test.ts') // a database, through a file that it imports
  expect(found).not.toContain('test/project/dev.test.ts') // a program of its own
  expect(found).not.toContain('test/providers/fuzz.test.ts') // says that it takes seconds
})

test('every file that asks how many rounds to do does more of them in `npm run test:long`', () => {
  const asking = findTestFiles().filter(({ path }) => /\brounds(?:<.*>)?\(/.test(readFileSync(path, 'utf8')))
  expect(pathsOf(asking, ({ isScaled }) => !isScaled)).toEqual([])
  expect(asking.length).toBeGreaterThan(0)
})

test('tests keep what they compile apart from the product, whose programs run with other flags of V8', () => {
  expect(process.env.NODE_COMPILE_CACHE).toBeDefined()
  expect(process.env.NODE_COMPILE_CACHE).not.toBe(COMPILED_FOLDER)
})

test('no file of `npm test` skips a test, or looks for what lies beside the project', () => {
  const text = (path: string) => readFileSync(path, 'utf8')
  const paths = findTestFiles().map(({ path }) => path)
  expect(
    paths.filter((path) =>
      /\b(?:test|describe|it)\.(?:skip|todo|only)|\.runIf\((?!process\.platform)|\.skipIf\(/.test(text(path)),
    ),
  ).toEqual([])
  expect(paths.filter((path) => /shared\/recordings/.test(text(path)))).toEqual([])
})

test('a test that draws its cases says from which seed', () => {
  const drawing = (path: string) => {
    const text = readFileSync(path, 'utf8')
    return (
      [...text.matchAll(/\bfc\.(?:assert|sample|check)\(/g)].length >
      [...text.matchAll(/\bseed(?::|,| \})/g)].length
    )
  }
  expect(
    findTestFiles()
      .map(({ path }) => path)
      .filter(drawing),
  ).toEqual([])
})

test('no test says how long it waits for a condition: `patience.ts` does', () => {
  const saying = (path: string) =>
    /\b(?:poll|waitFor|waitUntil)\([^;]{0,400}?\btimeout: (?!withinMs)[0-9]|^ {0,2}\}, [0-9]+_000\)$/m.test(
      readFileSync(path, 'utf8'),
    )
  expect(
    findTestFiles()
      .filter(({ isLong }) => !isLong)
      .map(({ path }) => path)
      .filter(saying),
  ).toEqual([])
})
