import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Environment } from '../../src/config/config.ts'
import { isKeyShaped } from '../../src/domain/api-key.ts'
import { widthOf } from '../../src/operations/table.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { json, run } from './command-line.ts'

let database: TestDatabase
let env: Environment

beforeAll(async () => {
  database = await createTestDatabase()
  env = { DATABASE_URL: database.url, KEY_PEPPER: 'pepper' }
})

afterAll(() => database.drop())

const time = z.iso.datetime()
const clientShape = z.strictObject({
  id: z.string().regex(/^cli_[0-9A-Za-z]+$/),
  name: z.string(),
  disabled: z.boolean(),
  created_at: time,
})
const newKeyShape = z.strictObject({
  id: z.string().regex(/^key_[0-9A-Za-z]+$/),
  client: z.string(),
  name: z.string(),
  prefix: z.string(),
  key: z.string().refine(isKeyShaped),
  expires_at: time.nullable(),
})
const keyShape = newKeyShape
  .omit({ key: true })
  .extend({ revoked_at: time.nullable(), last_used_at: time.nullable() })

async function createKey(...args: string[]) {
  return newKeyShape.parse(await json(env, 'key', 'create', ...args))
}

test('a client is made, listed, disabled and enabled, always in the same shape', async () => {
  const created = clientShape.parse(await json(env, 'client', 'create', 'acme'))
  expect(created).toMatchObject({ name: 'acme', disabled: false })
  expect(clientShape.parse(await json(env, 'client', 'disable', 'acme'))).toEqual({
    ...created,
    disabled: true,
  })
  expect(z.array(clientShape).parse(await json(env, 'client', 'list'))).toContainEqual({
    ...created,
    disabled: true,
  })
  expect(clientShape.parse(await json(env, 'client', 'enable', 'acme'))).toEqual(created)
})

test('a client gets another name and keeps its id, and no name is given twice', async () => {
  const created = clientShape.parse(await json(env, 'client', 'create', 'before'))
  const renamed = clientShape.parse(await json(env, 'client', 'rename', 'before', 'after'))
  expect(renamed).toEqual({ ...created, name: 'after' })
  for (const which of ['after', created.id])
    expect(await json(env, 'client', 'show', which)).toEqual({ ...renamed, group: null })
  await json(env, 'client', 'create', 'before')
  const { code, err } = await run(env, 'client', 'rename', 'before', 'after', '--json')
  expect([code, JSON.parse(err)]).toEqual([
    1,
    { error: { code: 'conflict', message: 'there is already a client named after' } },
  ])
})

test('a name that is taken, and an unknown name, fail with one line and code 1', async () => {
  await json(env, 'client', 'create', 'taken')
  for (const [args, says] of [
    [['client', 'create', 'taken'], 'there is already a client named taken'],
    [['client', 'disable', 'missing'], 'there is no client named missing; client list shows them'],
    [['client', 'enable', 'missing'], 'there is no client named missing; client list shows them'],
    [['key', 'create', '--client', 'missing'], 'there is no client named missing; client list shows them'],
    [['key', 'list', '--client', 'missing'], 'there is no client named missing; client list shows them'],
    [['usage', '--client', 'missing'], 'there is no client named missing; client list shows them'],
    [['key', 'revoke', 'key_none'], 'there is no key key_none; key list shows them'],
    [['key', 'rotate', 'key_none'], 'there is no key key_none; key list shows them'],
  ] as const) {
    expect(await run(env, ...args)).toEqual({ code: 1, out: '', err: `tallygate: ${says}\n` })
    const { code, out, err } = await run(env, ...args, '--json')
    expect([code, out, JSON.parse(err)]).toEqual([
      1,
      '',
      { error: { code: says.startsWith('there is already') ? 'conflict' : 'not_found', message: says } },
    ])
  }
})

test('a key is shown once, at its making, and never again', async () => {
  await json(env, 'client', 'create', 'shown once')
  const { key, ...rest } = await createKey('--client', 'shown once', '--name', 'laptop')
  expect(rest).toMatchObject({
    client: 'shown once',
    name: 'laptop',
    prefix: key.slice(0, 11),
    expires_at: null,
  })
  const listed = z.array(keyShape).parse(await json(env, 'key', 'list', '--client', 'shown once'))
  expect(listed).toEqual([{ ...rest, revoked_at: null, last_used_at: null }])
  expect((await run(env, 'key', 'list')).out).not.toContain(key.slice(11))
})

test('a key lasts as long as asked for', async () => {
  await json(env, 'client', 'create', 'lasting')
  for (const [text, seconds] of [
    ['90d', 90 * 86_400],
    ['24h', 86_400],
    ['15m', 900],
    ['30s', 30],
    ['2w', 14 * 86_400],
  ] as const) {
    const { expires_at } = await createKey('--client', 'lasting', '--expires-in', text)
    const aheadSeconds = (Date.parse(expires_at ?? '') - Date.now()) / 1_000
    expect(Math.abs(aheadSeconds - seconds)).toBeLessThan(10)
  }
})

test('a revoked key stays listed with the time of its end', async () => {
  await json(env, 'client', 'create', 'revoking')
  const { id } = await createKey('--client', 'revoking')
  const revoked = keyShape.parse(await json(env, 'key', 'revoke', id))
  expect(revoked.revoked_at).not.toBeNull()
  expect(await json(env, 'key', 'list', '--client', 'revoking')).toEqual([revoked])
})

test('a rotated key goes on for the overlap, a day if none is named, and its end is shown to the minute', async () => {
  await json(env, 'client', 'create', 'rotating')
  for (const [flags, seconds] of [
    [[], 86_400],
    [['--overlap', '1h'], 3_600],
    [['--overlap', '0'], 0],
  ] as const) {
    const old = await createKey('--client', 'rotating', '--name', 'app')
    const young = newKeyShape.parse(await json(env, 'key', 'rotate', old.id, ...flags))
    expect(young).toMatchObject({ client: 'rotating', name: 'app', expires_at: null })
    expect(young.key).not.toBe(old.key)
    const listed = z.array(keyShape).parse(await json(env, 'key', 'list', '--client', 'rotating'))
    const end = Date.parse(listed.find(({ id }) => id === old.id)?.expires_at ?? '')
    expect(Math.abs(end - Date.now() - seconds * 1_000)).toBeLessThan(10_000)
  }
  const { id } = await createKey('--client', 'rotating')
  const { out } = await run(env, 'key', 'rotate', id, '--overlap', '2h')
  const [end = ''] = /(?<=The former one, \S+, is refused from )\S+/.exec(out) ?? []
  expect(Math.abs(Date.parse(end) - Date.now() - 7_200_000)).toBeLessThan(10_000)
  expect((await run(env, 'key', 'list', '--client', 'rotating')).out).toContain(`until ${end.slice(0, 16)}Z`)
  await json(env, 'key', 'revoke', id)
  expect((await run(env, 'key', 'rotate', id)).err).toBe(
    `tallygate: key ${id} is revoked or expired; key create makes a new one\n`,
  )
})

test.each([
  ['an unknown command', ['frobnicate']],
  ['an unknown subcommand', ['client', 'frobnicate']],
  ['an unknown option', ['client', 'list', '--frobnicate']],
  ['no command', []],
  ['a missing argument', ['client', 'create']],
  ['one argument too many', ['client', 'create', 'a', 'b']],
  ['a missing option', ['key', 'create']],
  ['an empty name', ['client', 'create', '']],
  ['a name with spaces around it', ['client', 'create', ' acme ']],
  ['a name that moves the cursor', ['client', 'create', 'a\u{1b}[2Jb']],
  ['a name that turns the text', ['client', 'create', 'a\u{202e}b']],
  ['a name that is too long', ['client', 'create', 'a'.repeat(129)]],
  ['a duration without a unit', ['key', 'create', '--client', 'acme', '--expires-in', '90']],
  ['a duration that is no number', ['key', 'create', '--client', 'acme', '--expires-in', 'soon']],
  ['a duration in an unknown unit', ['key', 'create', '--client', 'acme', '--expires-in', '1y']],
  ['a duration of nothing', ['key', 'create', '--client', 'acme', '--expires-in', '0d']],
  ['a negative duration', ['key', 'create', '--client', 'acme', '--expires-in=-1d']],
  ['a duration beyond reason', ['key', 'create', '--client', 'acme', '--expires-in', '999999999w']],
  ['a star inside a model', ['key', 'create', '--client', 'acme', '--models', 'g*t']],
  ['an empty model', ['key', 'create', '--client', 'acme', '--models', 'gpt-4o,']],
  ['days beyond a year', ['usage', '--days', '366']],
  ['no days', ['usage', '--days', '0']],
  ['half a day', ['usage', '--days', '1.5']],
  ['an unknown group', ['usage', '--by', 'hour']],
  ['an empty group', ['usage', '--by', 'day,']],
])('%s is not understood: code 2, with the error on stderr alone, also with --json', async (_what, args) => {
  for (const flags of [[], ['--json']]) {
    const { code, out, err } = await run(env, ...args, ...flags)
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(err).not.toBe('')
  }
})

test('lists of clients and keys are tables that line up, whatever the names are', async () => {
  await json(env, 'client', 'create', 'ünïcödé 🙂')
  const { out } = await run(env, 'client', 'list')
  const lines = out.trimEnd().split('\n')
  const columns = lines.map((line) => widthOf(line.slice(0, line.search(/(STATE|enabled|disabled) /))))
  expect(columns.length).toBeGreaterThan(2)
  expect(new Set(columns).size).toBe(1)
})

test('without KEY_PEPPER no key is made, and everything else works', async () => {
  const { KEY_PEPPER: _pepper, ...without } = env
  await json(without, 'client', 'create', 'no pepper')
  const { code, out, err } = await run(without, 'key', 'create', '--client', 'no pepper')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toMatch(/^tallygate: KEY_PEPPER is not set.*\n$/)
  expect(await json(without, 'key', 'list', '--client', 'no pepper')).toEqual([])
})
