import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const OWN = new URL('../../../src/gateway/portal/page/', import.meta.url)
const SHARED = new URL('../../../src/operator/dashboard/', import.meta.url)
const SERVED = readFileSync(new URL('../portal-page.ts', OWN), 'utf8')

const FILES = readdirSync(OWN)
const read = (file: string) => readFileSync(new URL(file, OWN), 'utf8')

test('every file of the page is served, and each that it loads', () => {
  for (const file of FILES) expect(SERVED).toContain(`'${file}'`)
  for (const file of FILES.filter((name) => name.endsWith('.js')))
    for (const [, module = ''] of read(file).matchAll(/from '\.\/([^']+)'/g)) {
      expect(SERVED).toContain(`'${module}'`)
      expect([...FILES, ...readdirSync(SHARED)]).toContain(module)
    }
})

test('names from outside become text: no file writes markup, or runs it', () => {
  for (const file of FILES.filter((name) => name.endsWith('.js')))
    expect(read(file)).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc/,
    )
})

test('the key is kept nowhere: what is stored is the token, in this tab, and no cookie is set', () => {
  const scripts = FILES.filter((name) => name.endsWith('.js'))
    .map(read)
    .join('\n')
  expect([...scripts.matchAll(/\.setItem\((.*)\)/g)].map(([, what]) => what)).toEqual(['TOKEN_NAME, kept'])
  expect(scripts).not.toMatch(/localStorage|indexedDB|document\.cookie|caches\./)
  expect(read('main.js')).toContain("byId('key').value = ''")
})
