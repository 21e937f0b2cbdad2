import { afterAll, beforeAll, expect, test } from 'vitest'
import { CHAPTERS, OPERATIONS } from '../../src/operator/chapters.ts'
import { type Operator, startOperator, TOKEN } from './support/operator.ts'

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})

afterAll(() => operator.close())

const ROUTES = OPERATIONS.flatMap(({ http, name }) => ('path' in http ? [{ ...http, name }] : []))
const NAMES = OPERATIONS.map(({ name }) => name)

const ask = (method: string, url: string) =>
  operator.app.inject({
    method: method as 'GET',
    url,
    headers: { authorization: `Bearer ${TOKEN}` },
  })

test('every operation has a name, a route and an id of its own', () => {
  for (const names of [
    NAMES,
    ROUTES.map(({ id }) => id),
    ROUTES.map(({ method, path }) => `${method} ${path}`),
  ])
    expect(new Set(names).size).toBe(names.length)
})

// The command line puts it under its chapter's word, whatever its own first word is.
test('every command begins with the word of its chapter', () => {
  const strays = CHAPTERS.flatMap(({ words, operations }) =>
    operations.flatMap(({ command }) =>
      'words' in command && command.words.split(' ')[0] !== words
        ? [`${command.words}: not ${words} ...`]
        : [],
    ),
  )
  expect(strays).toEqual([])
})

// A router prefers the path without a field, so that nothing named so could be asked for.
test('no path is what a field of another one could stand for', () => {
  const templates = ROUTES.map(({ method, path }) => `${method} ${path}`)
  const hides = (one: string, other: string) => {
    const parts = other.split('/')
    const own = one.split('/')
    return (
      one !== other &&
      own.length === parts.length &&
      own.every((part, at) => part === parts[at] || (!part.startsWith('{') && parts[at]?.startsWith('{')))
    )
  }
  const hidden = templates.flatMap((one) =>
    templates.filter((other) => hides(one, other)).map((other) => `${one} hides some of ${other}`),
  )
  expect(hidden).toEqual([])
})

test('every field in a path is a field of its operation, and a text', () => {
  for (const { path, name } of ROUTES) {
    const fields = Object.keys(OPERATIONS.find((one) => one.name === name)?.input ?? {})
    for (const [, field] of path.matchAll(/\{(\w+)\}/g)) expect(fields).toContain(field)
  }
})

test.each(ROUTES)('$method $path refuses a query parameter that it does not have', async ({
  method,
  path,
}) => {
  const { statusCode, body } = await ask(
    method,
    `/admin/v1${path.replace(/\{\w+\}/g, '1')}?nobody_has_this=1`,
  )
  expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: { param: 'nobody_has_this' } }])
})

test.each(['prices/doubts'])('GET /%s refuses a query parameter that it does not have, too', async (path) => {
  const { statusCode, body } = await ask('GET', `/admin/v1/${path}?nobody_has_this=1`)
  expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: { param: 'nobody_has_this' } }])
})

test.each([
  '__proto__',
  'constructor',
  'toString',
])('a query parameter named %s is refused as others are', async (name) => {
  for (const query of [`${name}=1`, `${name}=1&${name}=2`]) {
    const { statusCode, body } = await ask('GET', `/admin/v1/clients?${query}`)
    expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: { param: name } }])
  }
})

test.each([
  '/clients?limit=1.0',
  '/clients?limit=1e2',
  '/refused?days=7.0',
  '/refused?days=07',
])('%s is refused: whole numbers are written plainly', async (path) => {
  const { statusCode, body } = await ask('GET', `/admin/v1${path}`)
  const param = /\?(\w+)=/.exec(path)?.[1]
  expect([statusCode, JSON.parse(body)]).toMatchObject([
    400,
    { error: { param, message: expect.stringContaining('must be one integer from 1 to') } },
  ])
})

test.each([
  '',
  'x',
  'day,x',
  'day,day',
])('a list of groups that is %j is refused by its name', async (groups) => {
  const { statusCode, body } = await ask('GET', `/admin/v1/refused?group_by=${groups}`)
  expect([statusCode, JSON.parse(body)]).toMatchObject([
    400,
    { error: { param: 'group_by', message: expect.stringMatching(/^group_by must name client, /) } },
  ])
})

test.each(
  ROUTES.filter(({ method }) => method === 'GET'),
)('HEAD $path answers as GET does, without a body', async ({ path }) => {
  const url = `/admin/v1${path.replace(/\{\w+\}/g, '1')}`
  const [got, head] = [await ask('GET', url), await ask('HEAD', url)]
  expect([head.statusCode, head.body]).toEqual([got.statusCode, ''])
})

test('a path answers other methods with 405 and those that it takes', async () => {
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const taken = new Set(ROUTES.flatMap((route) => (route.path === path ? [route.method as string] : [])))
    if (taken.has('GET')) taken.add('HEAD')
    const url = `/admin/v1${path.replace(/\{\w+\}/g, '1')}`
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'].filter(
      (one) => !taken.has(one),
    )) {
      const { statusCode, headers, body } = await ask(method, url)
      expect([statusCode, headers.allow], `${method} ${url}`).toEqual([405, [...taken].sort().join(', ')])
      expect(JSON.parse(body).error.code).toBe('method_not_allowed')
    }
  }
})

const OTHER_PATHS = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/dashboard']

test.each(OTHER_PATHS)('GET %s refuses every query parameter', async (path) => {
  const { statusCode, body } = await ask('GET', `${path}?nobody_has_this=1`)
  expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: { param: 'nobody_has_this' } }])
})

test('other paths of the listener answer 405 too, and what is nowhere 404', async () => {
  for (const path of OTHER_PATHS) {
    const { statusCode, headers } = await ask('POST', path)
    expect([statusCode, headers.allow], path).toEqual([405, 'GET, HEAD'])
  }
  expect((await ask('POST', '/admin/v1/nothing')).statusCode).toBe(404)
  expect((await ask('PATCH', '/nothing')).statusCode).toBe(404)
  const { statusCode } = await operator.app.inject({ method: 'PATCH', url: '/admin/v1/limits' })
  expect(statusCode).toBe(401)
})

/** The operations without a route that no other one stands for: a server cannot do them for itself, nor start. */
const FOR_THE_COMMAND_LINE_ALONE: readonly string[] = [
  'secrets.show',
  'compare',
  'ledger.claim',
  'journal.drain',
  'migrate',
  'backup',
  'restore',
  'prove',
]

test('what the command line can do, HTTP can, unless a server cannot do it for itself', () => {
  const alone = OPERATIONS.flatMap(({ name, http }) =>
    'none' in http && typeof http.none === 'string' ? [name] : [],
  )
  expect(alone).toEqual(FOR_THE_COMMAND_LINE_ALONE)
  const standIns = OPERATIONS.flatMap(({ http, command }) => [
    ...('none' in http && typeof http.none !== 'string' ? http.none : []),
    ...('none' in command && typeof command.none !== 'string' ? command.none : []),
  ])
  expect(standIns.filter((name) => !NAMES.includes(name))).toEqual([])
})
