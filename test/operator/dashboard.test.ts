import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

const FOLDER = new URL('../../src/operator/dashboard/', import.meta.url)
const FILES = readdirSync(FOLDER)

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})

afterAll(() => operator.close())

function read(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8')
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

test('the page and all it loads are served to anyone, as files that hold no figures', async () => {
  for (const file of FILES) {
    const path = file === 'page.html' ? '/dashboard' : `/dashboard/${file}`
    const { statusCode, headers, body } = await operator.app.inject(path)
    expect(statusCode, path).toBe(200)
    expect(headers['content-type']).toBe(TYPES[file.split('.').at(-1) ?? ''])
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(body).toBe(read(file))
    expect(body).not.toContain(TOKEN)
  }
})

test('only what is in the folder is served: no other path leads out of it', async () => {
  for (const path of [
    '/dashboard/',
    '/dashboard/../admin.ts',
    '/dashboard/..%2fadmin.ts',
    '/dashboard/page.html',
  ]) {
    expect((await operator.app.inject(path)).statusCode).toBe(404)
  }
})

test('everything the page names is there, relative, and nothing comes from elsewhere', () => {
  const page = read('page.html')
  const named = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? '')
  expect(named).toContain('dashboard/main.js')
  for (const path of named) expect(FILES).toContain(path.replace(/^dashboard\//, ''))
  for (const file of FILES.filter((name) => name.endsWith('.js'))) {
    for (const [, module = ''] of read(file).matchAll(/from '([^']+)'/g)) {
      expect(FILES).toContain(module.replace(/^\.\//, ''))
    }
  }
  for (const file of FILES) {
    const addresses = read(file).match(/(?:https?:)?\/\/[a-z0-9][^\s'"`)]*/gi) ?? []
    expect(addresses.filter((address) => address !== 'http://www.w3.org/2000/svg')).toEqual([])
  }
})

test('the policy lets only our own files run, and lets no text become markup', async () => {
  const { headers } = await operator.app.inject('/dashboard')
  const policy = new Map(
    String(headers['content-security-policy'])
      .split('; ')
      .map((directive): [string, string] => {
        const space = directive.indexOf(' ')
        return [directive.slice(0, space), directive.slice(space + 1)]
      }),
  )
  expect(policy.get('default-src')).toBe("'none'")
  for (const kind of ['script-src', 'style-src', 'connect-src', 'img-src'])
    expect(policy.get(kind)).toBe("'self'")
  for (const kind of ['base-uri', 'form-action', 'frame-ancestors', 'trusted-types']) {
    expect(policy.get(kind)).toBe("'none'")
  }
  expect(policy.get('require-trusted-types-for')).toBe("'script'")
})

test('the page needs nothing that the policy forbids', () => {
  const page = read('page.html')
  expect(page).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i)
  expect(page.match(/<script[^>]*>[^<]+<\/script>/gi)).toBeNull()
  for (const file of FILES.filter((name) => name.endsWith('.js'))) {
    expect(read(file), file).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|setAttribute\('style'|localStorage|cookie/,
    )
  }
})

test('a page that did not change is not sent again, one that did is', async () => {
  const { headers } = await operator.app.inject('/dashboard/main.js')
  expect(headers['cache-control']).toBe('no-cache')
  const ask = (etag: string) =>
    operator.app.inject({ url: '/dashboard/main.js', headers: { 'if-none-match': etag } })
  expect(await ask(String(headers.etag))).toMatchObject({ statusCode: 304, body: '' })
  expect(await ask('"another"')).toMatchObject({ statusCode: 200 })
})

interface Format {
  usd(amount: number): string
  exactUsd(amount: number): string
  tickUsd(amount: number): string
  roughly(count: number): string
  milliseconds(ms: number): string
  bytes(size: number): string
  lastDays(days: number): string[]
}

test('figures are short to read, and small amounts do not become nothing', async () => {
  const format: Format = await import(new URL('format.js', FOLDER).href)
  expect([0, 1_234.567, 0.1, 0.0375, 0.000_450_000_001].map(format.usd)).toEqual([
    '$0.00',
    '$1,234.57',
    '$0.10',
    '$0.0375',
    '$0.00045',
  ])
  expect(format.usd(-12.5)).toBe('-$12.50')
  expect(format.exactUsd(0.000_450_000_001)).toBe('$0.000450000001')
  expect([0, 150, 2_500, 0.25].map(format.tickUsd)).toEqual(['$0', '$150', '$2.5K', '$0.25'])
  expect([0, 9_999, 12_345, 58_400_000].map(format.roughly)).toEqual(['0', '9,999', '12.3K', '58.4M'])
  expect([140, 1_234, 95_000, 7_200_000].map(format.milliseconds)).toEqual([
    '140 ms',
    '1.2 s',
    '2 min',
    '2.0 h',
  ])
  expect([0, 2_048, 3_145_728].map(format.bytes)).toEqual(['0 B', '2.0 KiB', '3.0 MiB'])
})

test('days are UTC days, today last', async () => {
  const format: Format = await import(new URL('format.js', FOLDER).href)
  for (const [now, first, last] of [
    ['2026-03-30T12:00:00Z', '2026-03-01', '2026-03-30'],
    ['2028-02-29T23:59:59.999Z', '2028-01-31', '2028-02-29'],
    ['2028-03-01T00:00:00Z', '2028-02-01', '2028-03-01'],
    ['2027-01-01T00:00:00Z', '2026-12-03', '2027-01-01'],
  ] as const) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(now) })
    const days = format.lastDays(30)
    vi.useRealTimers()
    expect([days[0], days.at(-1), new Set(days).size]).toEqual([first, last, 30])
  }
})
