import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type AxisConfig, axesConfig, fileAxes } from '../../../src/config/yaml/axes.ts'
import { findValue } from '../../../src/gateway/axes/find-value.ts'
import { UNREAD_BODY } from '../../../src/gateway/bodies/body-reading.ts'
import { scanRequestBody } from '../../../src/gateway/bodies/request-body.ts'

const CALLER = { clientId: 'cli_1', clientName: 'acme', keyId: 'key_1', keyName: 'k', models: null }
const SESSION = '0b2f6f0e-7f0a-4b7e-9a53-1f2f7d0d9c11'
const ACCOUNT = 'a3c1f9a2-13de-4c1b-8d9d-2b7a6c0e4f55'
const DEVICE = 'ab'.repeat(32)

function axesOf(yaml: string): readonly AxisConfig[] {
  return fileAxes.parse(parse(yaml))
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The value of the one axis in `yaml`. */
function said(yaml: string, { headers = {}, body }: Sent): string | null {
  const [axis] = axesOf(yaml)
  if (axis === undefined) throw new Error('there is no axis')
  const plain = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? {}))
  const scan = scanRequestBody(plain, axesConfig([axis]).members)
  const call = { request: { headers }, caller: CALLER, body: { ...UNREAD_BODY, plain, scan } }
  return findValue(axis, call, 'pepper')
}

const from = (...sources: readonly string[]) => `[{ name: user, from: [${sources.join(', ')}] }]`

test('the first source that says something decides', () => {
  const yaml = from(
    '{ header: X-User }',
    '{ baggage: user.id }',
    '{ body: user }',
    '{ client: { acme: gold } }',
  )
  const body = { model: 'm', user: 'ben' }
  const baggage = 'tenant=7, user.id=j%C3%BCrg;p=1'
  expect(said(yaml, { headers: { 'x-user': ' ann ', baggage }, body })).toBe('ann')
  expect(said(yaml, { headers: { 'x-user': '  ', baggage }, body })).toBe('jürg')
  expect(said(yaml, { body })).toBe('ben')
  expect(said(yaml, { body: { user: ['ben'] } })).toBe('gold')
  expect(said(from('{ key: { key_1: ops } }'), {})).toBe('ops')
  expect(said(from('{ key: { key_2: ops } }'), {})).toBeNull()
})

test('a member of the body is found at any depth up to three, escaped or twice, and numbers are text', () => {
  const yaml = from('{ body: metadata.user.id }')
  expect(said(yaml, { body: { metadata: { user: { id: 'ann' } } } })).toBe('ann')
  expect(said(yaml, { body: { metadata: { user: { id: 42 } } } })).toBe('42')
  expect(said(yaml, { body: '{"metadata":{"user":{"id":"a","\\u0069d":"b"}}}' })).toBe('b')
  for (const body of [
    { metadata: null },
    { metadata: { user: 'x' } },
    { metadata: { user: { id: true } } },
    '[]',
  ]) {
    expect(said(yaml, { body }), JSON.stringify(body)).toBeNull()
  }
})

test.each([
  'größe',
  '部署',
  '\u{1f600}',
  'Ã¼',
  'é'.repeat(64),
  'n'.repeat(64),
])('a member of the body named %s is found at every depth, however its name is written', (name) => {
  const escaped = [...name].flatMap((letter) =>
    Array.from(
      { length: letter.length },
      (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ),
  )
  for (const path of [name, `metadata.${name}`, `${name}.${name}`])
    for (const written of [name, escaped.join('')]) {
      const body = path
        .split('.')
        .reduceRight((value, part) => `{"${part === name ? written : part}":${value}}`, '"ann"')
      expect(said(from(`{ body: '${path}' }`), { body }), body).toBe('ann')
    }
  // As latin-1 its bytes are another name.
  const other = Buffer.from(name).toString('latin1')
  expect(said(from(`{ body: '${name}' }`), { body: { [other]: 'ben' } })).toBe(other === name ? 'ben' : null)
})

test('Claude Code says its user and session in a header, in JSON text, and in its older form', () => {
  const json = JSON.stringify({ device_id: DEVICE, account_uuid: ACCOUNT, session_id: SESSION })
  const older = `user_${DEVICE}_account_${ACCOUNT}_session_${SESSION}`
  const withKey = `user_${DEVICE}_account__session_${SESSION}`
  const user = from('{ preset: claude-code/user }')
  const session = from('{ preset: claude-code/session }')
  for (const text of [json, older]) {
    const body = { metadata: { user_id: text } }
    expect([said(user, { body }), said(session, { body })]).toEqual([ACCOUNT, SESSION])
  }
  expect(said(user, { body: { metadata: { user_id: withKey } } })).toBe(DEVICE)
  expect(said(session, { headers: { 'x-claude-code-session-id': 's-1' } })).toBe('s-1')
  expect(said(session, { body: { metadata: { user_id: '{"session_id"' } } })).toBeNull()
})

test('an id of more digits than a number holds is the one that is written, wherever it stands', () => {
  const id = '1234567890123456789'
  const text = `{"id":${id}}`
  expect(said(from('{ header: x-user, member: id }'), { headers: { 'x-user': text } })).toBe(id)
  expect(said(from('{ body: user, member: id }'), { body: { user: text } })).toBe(id)
  expect(said(from('{ body: user.id }'), { body: `{"user":${text}}` })).toBe(id)
})

test('presets read what programs and gateways send', () => {
  const preset = (name: string) => from(`{ preset: ${name} }`)
  expect(said(preset('openai/user'), { body: { user: 'u', safety_identifier: 's' } })).toBe('s')
  expect(said(preset('codex/session'), { body: { prompt_cache_key: 'c' } })).toBe('c')
  expect(said(preset('litellm/user'), { headers: { 'x-litellm-customer-id': 'u' } })).toBe('u')
  expect(said(preset('litellm/session'), { body: { metadata: { session_id: 's' } } })).toBe('s')
  expect(said(preset('helicone/user'), { headers: { 'helicone-user-id': 'u' } })).toBe('u')
  expect(said(preset('portkey/user'), { headers: { 'x-portkey-metadata': '{"_user":"u"}' } })).toBe('u')
  expect(said(preset('openrouter/app'), { headers: { 'http-referer': 'https://a.example' } })).toBe(
    'https://a.example',
  )
})

test('what is long, unseen or looks like a name of ours is a hash, never cut, so that no two are one', () => {
  const yaml = from('{ body: user }')
  const texts = ['x'.repeat(129), `${'x'.repeat(128)}y`, 'a\nuser=b', 'a\u202eb', '(none)', '(other)']
  const values = texts.map((user) => said(yaml, { body: { user } }))
  expect(new Set(values).size).toBe(texts.length)
  for (const value of values) expect(value).toMatch(/^sha256:[0-9a-f]{32}$/)
  expect(said(yaml, { body: { user: 'x'.repeat(128) } })).toBe('x'.repeat(128))
  expect(said(yaml, { body: { user: 'Jürg  (ops)' } })).toBe('Jürg  (ops)')
  expect(said(yaml, { body: { user: '\ud800' } })).toMatch(/^sha256:/)
})

test('an axis with hash keeps no value as it is', () => {
  const yaml = '[{ name: user, hash: true, from: [{ body: user }] }]'
  expect(said(yaml, { body: { user: 'ann' } })).toMatch(/^hmac:[0-9a-f]{32}$/)
  expect(said(yaml, { body: { user: 'ann' } })).not.toBe(said(yaml, { body: { user: 'anna' } }))
})

test.each([
  ['five axes', JSON.stringify([1, 2, 3, 4, 5].map((n) => ({ name: `a${n}`, from: [{ body: 'user' }] })))],
  ['a name twice', '[{ name: a, from: [{ body: b }] }, { name: a, from: [{ body: b }] }]'],
  ['a name that is none', '[{ name: A B, from: [{ body: b }] }]'],
  ['no source', '[{ name: a, from: [] }]'],
  ['two sources in one', '[{ name: a, from: [{ body: b, header: c }] }]'],
  ['an unknown preset', '[{ name: a, from: [{ preset: none/user }] }]'],
])('a configuration with %s is refused', (_what, yaml) => {
  expect(fileAxes.safeParse(parse(yaml)).success).toBe(false)
})
