import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isMissingFile } from '../../src/lib/missing-file.ts'

function errorOf(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return error
  }
}

test('a missing file is distinguished from every other failure of the file system', () => {
  expect(isMissingFile(errorOf(() => readFileSync(join(tmpdir(), 'tallygate-is-not-there'))))).toBe(true)
  expect(isMissingFile(errorOf(() => readFileSync(tmpdir())))).toBe(false)
  expect(isMissingFile(new Error('ENOENT'))).toBe(false)
  expect(isMissingFile({ code: 'ENOENT' })).toBe(false)
})
