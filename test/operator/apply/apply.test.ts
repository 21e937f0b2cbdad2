import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { readDeclared } from '../../../src/operator/apply/declared.ts'
import { OPERATIONS } from '../../../src/operator/chapters.ts'
import { json, run } from '../../cli/command-line.ts'
import { type Operator, startOperator } from '../support/operator.ts'

let operator: Operator
let env: Environment
let folder: string

beforeAll(async () => {
  operator = await startOperator()
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-apply-'))
  env = { DATABASE_URL: operator.database.url, KEY_PEPPER: 'pepper', ALERTS_URL: 'http://127.0.0.1:9/hook' }
})

afterAll(async () => {
  await operator.close()
  rmSync(folder, { recursive: true })
})

function file(text: string): string {
  const path = join(folder, 'declared.yaml')
  writeFileSync(path, text)
  return path
}

const apply = async (text: string, ...more: string[]) =>
  Object(await json(env, 'apply', '-f', file(text), ...more))
const diff = async (text: string, ...more: string[]) => await run(env, 'diff', '-f', file(text), ...more)

const WHOLE = `
clients:
  - name: acme
    keys:
      - name: production
      - { name: batch, models: [gpt-4o-mini, claude-*] }
    limits:
      - { kind: budget, limit: '50', per: month }
      - { kind: requests, limit: 600, key: batch }
  - { name: globex, disabled: true }
defaults:
  limits: [{ kind: concurrent, limit: 20 }]
alerts:
  - { url: '\${ALERTS_URL}', on: [budget] }
`

test('what is declared is there after one run, and a second one changes nothing', async () => {
  const before = await diff(WHOLE)
  expect([before.code, before.err]).toEqual([2, ''])
  const first = await apply(WHOLE)
  expect(before.out).toContain(`9 changes, plan ${first.plan}`)
  expect(
    first.changes.map(({ action, what, name }: Record<string, string>) => `${action} ${what} ${name}`),
  ).toEqual([
    'create client acme',
    'create client globex',
    'change client globex',
    'create key acme/production',
    'create key acme/batch',
    'create limit defaults: concurrent',
    'create limit acme: budget per month',
    'create limit acme: requests of key batch',
    'create receiver http://127.0.0.1:9',
  ])
  expect(first.secrets.map(({ name }: { name: string }) => name)).toEqual([
    'acme/production',
    'acme/batch',
    'http://127.0.0.1:9',
  ])
  expect(await json(env, 'client', 'list')).toMatchObject([
    { name: 'acme', disabled: false },
    { name: 'globex', disabled: true },
  ])
  const again = await diff(WHOLE)
  expect([again.code, again.out]).toEqual([0, 'Nothing to change.\n'])
  expect(await apply(WHOLE)).toMatchObject({ changes: [], secrets: [], left: [] })
})

test('groups are made above before below, clients are put in them, and prune takes what is not declared', async () => {
  const tree = `
groups:
  - { name: team, into: unit }
  - { name: unit, into: company }
  - { name: company }
clients:
  - { name: acme, group: team }
  - { name: globex, disabled: true }
`
  const named = ({ changes }: { readonly changes: readonly Record<string, string>[] }) =>
    changes.map(({ action, what, name }) => `${action} ${what} ${name}`)
  expect(named(await apply(tree))).toEqual([
    ...['company', 'unit', 'team'].map((name) => `create group ${name}`),
    'change client acme',
  ])
  expect((await diff(tree)).code).toBe(0)
  const turned = `
groups:
  - { name: unit }
  - { name: company, into: unit }
clients:
  - { name: acme, group: null }
  - { name: globex, disabled: true }
`
  expect((await diff(turned)).out).toContain('~ client acme  in team -> no group')
  expect(named(await apply(turned, '--prune'))).toEqual([
    'change group unit',
    'change group company',
    'change client acme',
    'remove group team',
  ])
  expect((await diff(turned, '--prune')).code).toBe(0)
  const ring = 'groups: [{ name: a, into: b }, { name: b, into: a }]'
  expect((await diff(ring)).err).toContain('he group a would be in itself')
  await apply('groups: []', '--prune')
})

test('limits of a group are apart from those of clients and the defaults', async () => {
  const limits = (amount: number) => `
groups:
  - name: company
    limits:
      - { kind: budget, limit: ${amount}, per: month }
      - { kind: requests, limit: 60, axis: user }
`
  const changes = async (document: string, ...more: string[]) =>
    (await apply(document, ...more)).changes.map(({ name, detail }: Record<string, string>) => [name, detail])
  expect(await changes(limits(500))).toEqual([
    ['company', null],
    ['group company: budget per month', '500'],
    ['group company: requests of each user', '60'],
  ])
  expect((await diff(limits(500))).code).toBe(0)
  expect(await changes(limits(600))).toEqual([['group company: budget per month', '500 -> 600']])
  expect((await diff('defaults: { limits: [] }', '--prune')).out).not.toContain('600')
  const none = 'groups: [{ name: company, limits: [] }]'
  expect(await changes(none, '--prune')).toHaveLength(2)
  await apply('groups: []', '--prune')
})

test('what was changed by hand is shown, and set back', async () => {
  await run(env, 'limits', 'set', '--client', 'acme', '--budget', '70', '--per', 'month')
  await run(env, 'client', 'enable', 'globex')
  const { code, out } = await diff(WHOLE)
  expect([code, out.split('\n').slice(0, 2)]).toEqual([
    2,
    ['~ client globex  enabled -> disabled', '~ limit acme: budget per month  70 -> 50'],
  ])
  await apply(WHOLE)
  expect((await diff(WHOLE)).code).toBe(0)
})

test('a receiver whose terms differ is replaced', async () => {
  const other = WHOLE.replace('on: [budget]', 'on: [budget, unpriced]')
  const { changes } = await apply(other)
  expect(changes).toMatchObject([
    { action: 'change', what: 'receiver' },
    { action: 'create', what: 'receiver' },
  ])
  expect(await json(env, 'alerts', 'list')).toMatchObject([{ on: ['budget', 'unpriced'] }])
})

const LESS = `
clients:
  - name: acme
    keys: [{ name: production }]
    limits: []
alerts: []
`

test('nothing is removed without prune, and nothing of sections that the file does not have', async () => {
  const { code, out } = await diff(LESS)
  expect(code).toBe(0)
  expect(out).toContain('key acme/batch is not in the file; --prune removes it')
  expect(await apply(LESS)).toMatchObject({ changes: [] })
  const { changes } = await apply(LESS, '--prune')
  expect(
    changes.map(({ action, what, name }: Record<string, string>) => `${action} ${what} ${name}`),
  ).toEqual([
    'remove key acme/batch',
    'remove limit acme: budget per month',
    'remove limit acme: requests of key batch',
    'remove receiver http://127.0.0.1:9',
  ])
  expect(await json(env, 'limits', 'show', '--default')).toMatchObject([{ kind: 'concurrent', limit: 20 }])
  expect((await diff(LESS, '--prune')).code).toBe(0)
})

test('a client that is not in the file is disabled with prune, as its usage stays', async () => {
  await run(env, 'client', 'create', 'initech')
  await apply('clients: [{ name: acme }, { name: globex, disabled: true }]', '--prune')
  expect(await json(env, 'client', 'list')).toMatchObject([
    { name: 'acme', disabled: false },
    { name: 'globex', disabled: true },
    { name: 'initech', disabled: true },
  ])
})

test('new secrets are added to a file that only its owner may read, and are not shown then', async () => {
  const to = join(folder, 'secrets.jsonl')
  const text = 'clients: [{ name: hooli, keys: [{ name: a }, { name: b }] }]'
  const { secrets, changes } = await apply(text, '--secrets-to', to)
  expect([secrets, changes.length]).toEqual([[], 3])
  const lines = readFileSync(to, 'utf8').trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).name)).toEqual(['hooli/a', 'hooli/b'])
  expect(statSync(to).mode & 0o077).toBe(0)
})

test.each([
  [
    'clients: [{ name: acme, keys: [{ name: production, models: [gpt-4o] }] }]',
    1,
    'what a key may use stays',
  ],
  ['clients: [{ name: acme }, { name: acme }]', 2, 'has acme twice'],
  ['clients: [{ name: acme, limits: [{ kind: budget }] }]', 2, 'clients.0.limits.0.limit'],
  ['clients: [{ name: acme, colour: red }]', 2, 'colour'],
  ['routes: []', 2, 'routes'],
  ['clients: [', 2, 'is not YAML'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference in a file
  ["clients: [{ name: '${NO_SUCH_NAME}' }]", 1, 'NO_SUCH_NAME is not set'],
  ["alerts: [{ url: 'file:/nowhere/url', on: [budget] }]", 1, '/nowhere/url cannot be read'],
])('%s is refused before anything is changed', async (text, code, why) => {
  const clients = await json(env, 'client', 'list')
  const refused = await run(env, 'apply', '-f', file(text))
  expect([refused.code, refused.err]).toEqual([code, expect.stringContaining(why)])
  expect(await json(env, 'client', 'list')).toEqual(clients)
})

test('the same over HTTP: a plan, its application, and its name', async () => {
  const ask = (path: string, payload: object) =>
    operator.ask({ method: 'POST', url: `/admin/v1/${path}`, payload })
  const document = 'clients: [{ name: umbrella, keys: [{ name: only }] }]'
  const planned = await ask('diff', { document })
  const { plan } = Object(planned.document)
  expect(planned).toMatchObject({ status: 200, document: { changes: [{ name: 'umbrella' }, {}] } })
  expect(await ask('apply', { document, plan: 'another' })).toMatchObject({ status: 409 })
  const before = operator.announcements()
  expect(await ask('apply', { document, plan })).toMatchObject({
    status: 200,
    document: { plan, secrets: [{ name: 'umbrella/only' }] },
  })
  expect(operator.announcements()).toBe(before + 1)
  expect(operator.log()).toContain('"event":"admin.applied"')
  expect(await ask('apply', { document })).toMatchObject({ document: { changes: [], secrets: [] } })
})

test.each([
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference in a file
  '${PATH}',
  'file:/etc/hostname',
])('a server reads %s for no caller', async (reference) => {
  const document = `alerts: [{ url: 'http://127.0.0.1:9', on: [budget], secret: '${reference}' }]`
  expect(await operator.ask({ method: 'POST', url: '/admin/v1/diff', payload: { document } })).toMatchObject({
    status: 400,
    document: { error: { param: 'document', message: expect.stringContaining('has the reference') } },
  })
})

test('a limit is tried as declared, and enforced once the file does not say so', async () => {
  const text = (tried: string) =>
    `clients: [{ name: trying, limits: [{ kind: requests, limit: 9${tried} }] }]`
  await apply(text(', tried: true'))
  expect(await json(env, 'limits', 'tried')).toMatchObject([{ client: 'trying', limit: 9 }])
  expect(await apply(text(', tried: true'))).toMatchObject({ changes: [] })
  expect((await apply(text(''))).changes).toMatchObject([{ action: 'change', detail: 'tried -> held' }])
  expect(await json(env, 'limits', 'tried')).toEqual([])
  expect(await apply(text(''))).toMatchObject({ changes: [] })
})

test('the example of the page is one', () => {
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(readFileSync('docs/apply.md', 'utf8')) ?? []
  const receiver = OPERATIONS.find(({ name }) => name === 'alerts.add')?.input ?? {}
  const declared = readDeclared(yaml, receiver, (reference) =>
    reference.startsWith('file:') ? 'a-secret-of-the-operator-1234567' : 'https://ops.example.com/hook',
  )
  expect(declared).toMatchObject({ clients: [{ name: 'acme' }, { name: 'globex' }], alerts: [{}] })
})
