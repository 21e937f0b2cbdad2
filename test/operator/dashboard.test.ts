import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

const FOLDER = new URL('../../src/operator/pages/', import.meta.url)

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})

afterAll(() => operator.close())

const TYPES = {
  '/dashboard': ['operator.html', 'text/html; charset=utf-8'],
  '/dashboard/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/dashboard/operator.js': ['operator.js', 'text/javascript; charset=utf-8'],
  '/dashboard/icon.svg': ['icon.svg', 'image/svg+xml'],
}

test('the page and all it loads are served to anyone, as files that hold no figures', async () => {
  for (const [path, [file = '', type]] of Object.entries(TYPES)) {
    const { statusCode, headers, body } = await operator.app.inject(path)
    expect(statusCode, path).toBe(200)
    expect(headers['content-type']).toBe(type)
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(body).toBe(readFileSync(new URL(file, FOLDER), 'utf8'))
    expect(body).not.toContain(TOKEN)
  }
})

test('only these are served: no other path leads out of the folder, or to the page of another', async () => {
  for (const path of [
    '/dashboard/',
    '/dashboard/../admin.ts',
    '/dashboard/..%2fadmin.ts',
    '/dashboard/operator.html',
    '/dashboard/portal.js',
  ]) {
    expect((await operator.app.inject(path)).statusCode).toBe(404)
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

test('a page that did not change is not sent again, one that did is', async () => {
  const { headers } = await operator.app.inject('/dashboard/operator.js')
  expect(headers['cache-control']).toBe('no-cache')
  const ask = (etag: string) =>
    operator.app.inject({ url: '/dashboard/operator.js', headers: { 'if-none-match': etag } })
  expect(await ask(String(headers.etag))).toMatchObject({ statusCode: 304, body: '' })
  expect(await ask('"another"')).toMatchObject({ statusCode: 200 })
})
