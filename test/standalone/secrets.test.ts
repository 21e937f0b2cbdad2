import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadSecrets, saveSecrets } from '../../src/standalone/data-folder/secrets.ts'

const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-secrets-'))
const NOTHING = { keyPepper: null, adminToken: null }
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('secrets are made once, kept, different from one another, and closed to others', () => {
  const file = join(folder, 'kept.json')
  const made = loadSecrets(file, NOTHING)
  expect(loadSecrets(file, NOTHING)).toEqual(made)
  const values = Object.values(made).filter((value) => value !== null)
  expect(new Set(values).size).toBe(4)
  for (const value of values) expect(value).toMatch(/^[0-9a-f]{40}$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('the first start keeps the secrets that it is given, and later ones change none', () => {
  const file = join(folder, 'given.json')
  const made = loadSecrets(file, { keyPepper: 'of the backup', adminToken: null })
  expect(made.keyPepper).toBe('of the backup')
  expect(made.adminToken).toMatch(/^[0-9a-f]{40}$/)
  expect(loadSecrets(file, { keyPepper: 'another', adminToken: 'another' })).toEqual(made)
})

test('the demo key is kept beside them', () => {
  const file = join(folder, 'with-key.json')
  const made = loadSecrets(file, NOTHING)
  expect(made.demoKey).toBeNull()
  saveSecrets(file, { ...made, demoKey: 'tg_x' })
  expect(loadSecrets(file, NOTHING)).toEqual({ ...made, demoKey: 'tg_x' })
})

test.each([
  '',
  '{',
  '[]',
  '{"keyPepper":1}',
])('a damaged file (%j) is not replaced by new secrets', (text) => {
  const file = join(folder, 'damaged.json')
  writeFileSync(file, text)
  expect(() => loadSecrets(file, NOTHING)).toThrow(/damaged/)
  expect(readFileSync(file, 'utf8')).toBe(text)
})
