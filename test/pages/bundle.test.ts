import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { stop } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { buildPages, PAGES_FOLDER } from '../../scripts/pages/build.ts'

const read = (name: string) => readFileSync(join(PAGES_FOLDER, name), 'utf8')
const FILES = readdirSync(PAGES_FOLDER)
const HTML = FILES.filter((name) => name.endsWith('.html'))

const SOURCES = readdirSync('pages', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, text: readFileSync(join('pages', name), 'utf8') }))

// The next file of the process that builds something starts a service of its own.
afterAll(() => stop())

test('the committed bundles are what their sources make: npm run pages writes them again', async () => {
  const built = await buildPages()
  for (const [name, content] of built) expect(read(name) === content, name).toBe(true)
  expect([...built.keys(), ...HTML, 'icon.svg'].sort()).toEqual([...FILES].sort())
})

test('everything a page names is there, relative, and nothing comes from elsewhere', () => {
  for (const page of HTML) {
    const named = [...read(page).matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? '')
    expect(named).toHaveLength(3)
    for (const path of named) expect(FILES).toContain(path.replace(/^(?:dashboard|portal)\//, ''))
  }
  for (const name of FILES) {
    const addresses = read(name).match(/\bhttps?:\/\/[a-z0-9][^\s'"`)]*/gi) ?? []
    expect(addresses.filter((address) => !address.startsWith('http://www.w3.org/'))).toEqual([])
  }
})

test('a page needs nothing that the policy forbids', () => {
  for (const page of HTML) {
    expect(read(page)).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i)
    expect(read(page).match(/<script[^>]*>[^<]+<\/script>/gi)).toBeNull()
  }
  for (const name of FILES.filter((file) => file.endsWith('.js')))
    expect(read(name), name).not.toMatch(/\beval\(|new Function|document\.write|insertAdjacentHTML/)
})

test('names from outside become text: no source writes markup', () => {
  for (const { name, text } of SOURCES)
    expect(text, name).not.toMatch(/dangerouslySetInnerHTML|innerHTML|outerHTML|srcdoc|DOMParser/)
})

test('a token is in this tab alone: nothing else is kept by the browser, and no cookie is sent', () => {
  const all = SOURCES.map(({ text }) => text).join('\n')
  expect([...all.matchAll(/\.setItem\((.*)\)/g)].map(([, what]) => what)).toEqual(['this.#tokenName, token'])
  expect(all).not.toMatch(/localStorage|indexedDB|document\.cookie|caches\./)
  expect(all).toContain("credentials: 'omit'")
})

test('what a page loads before its first figures is at most 60 KB', () => {
  const size = (name: string) =>
    brotliCompressSync(read(name), { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }).length
  for (const page of ['operator', 'portal'])
    expect(size(`${page}.js`) + size('style.css')).toBeLessThan(60_000)
})
