import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { axesConfig, fileAxes } from '../../../src/config/yaml/axes.ts'
import { claimedValues } from '../../../src/gateway/axes/claimed-values.ts'
import { findValue } from '../../../src/gateway/axes/find-value.ts'
import { UNREAD_BODY } from '../../../src/gateway/bodies/body-reading.ts'
import { claimsAt, KEYS, type Members, standIn, tokenOf, tokenOfText } from '../identity/provider.ts'

const START_MS = Date.parse('2026-11-26T00:20:00Z')

function axesOf(yaml: string) {
  return axesConfig(fileAxes.parse(parse(yaml)))
}

/** The values that calls have on the axes of `yaml`, each with its own token, and how often claims were read. */
function open(yaml: string) {
  const axes = axesOf(yaml)
  const reads = claimedValues(axes, 'pepper')
  const read = { times: 0 }
  const counted = (claims: Members) => {
    read.times += 1
    return reads?.(claims)
  }
  const { identities } = standIn(() => START_MS, {}, undefined, counted)
  const said = (claims: Members, headers = {}, by = KEYS.ec.privateKey) =>
    saidBy(tokenOf(START_MS, claims, {}, by), headers)
  const saidBy = async (token: string, headers = {}) => {
    const found = await identities.find(token)
    if (found.kind !== 'active') return found.kind
    const call = { request: { headers }, caller: found.caller, body: UNREAD_BODY }
    return axes.list.map((axis) => findValue(axis, call, 'pepper'))
  }
  return { said, saidBy, read, reads }
}

const valueBy = async (from: string, claims: Members, headers = {}) =>
  await open(`[{ name: user, from: [${from}] }]`).said(claims, headers)

test('a claim is the value of its axis, at any depth, and the next source counts where it says nothing', async () => {
  const from = '{ claim: email }, { claim: [org, unit] }, { header: x-user }'
  const headers = { 'x-user': 'ben' }
  expect(await valueBy(from, { email: ' ann@example.com ', org: { unit: 'r' } }, headers)).toEqual([
    'ann@example.com',
  ])
  expect(await valueBy(from, { org: { unit: 'r' } }, headers)).toEqual(['r'])
  expect(await valueBy(from, { email: '  ', org: {} }, headers)).toEqual(['ben'])
  expect(await valueBy(from, {})).toEqual([null])
  expect(await valueBy(`{ header: x-user }, ${from}`, { email: 'ann' }, headers)).toEqual(['ben'])
})

test.each([
  ['a number', 42, '42'],
  ['zero', 0, '0'],
  ['a list of one', ['ann'], 'ann'],
  ['a list of two', ['ann', 'ben'], 'next'],
  ['an empty list', [], 'next'],
  ['a list in a list', [['ann', 'ben']], 'next'],
  ['true', true, 'next'],
  ['null', null, 'next'],
  ['an object', { name: 'ann' }, 'next'],
  ['nothing in it', '', 'next'],
])('a claim that is %s', async (_what, claim, expected) => {
  expect(await valueBy('{ claim: who }, { client: { research: next } }', { who: claim })).toEqual([expected])
})

test.each([
  '9007199254740993',
  '-12345678901234567891',
  '1234567890123456789012',
])('an id of more digits than a number holds is the one that is written: %s', async (id) => {
  const { saidBy } = open('[{ name: user, from: [{ claim: who }] }]')
  const claims = JSON.stringify(claimsAt(START_MS, { who: 'ID' })).replace('"ID"', id)
  expect(await saidBy(tokenOfText(claims))).toEqual([id])
})

test('a name with dots or one that objects have by themselves is a claim like any other', async () => {
  const from = '{ claim: "https://example.com/team.id" }, { claim: [toString, name] }'
  expect(await valueBy(from, { 'https://example.com/team.id': 't' })).toEqual(['t'])
  expect(await valueBy(from, { https: 't' })).toEqual([null])
})

test('what is long is a hash, never cut, and hash keeps none as it is: the same as of another source', async () => {
  const long = 'x'.repeat(1_000)
  for (const options of ['', ', hash: true'])
    for (const who of [long, '(none)', 'ann']) {
      const yaml = (from: string) => `[{ name: user, from: [${from}]${options} }]`
      const [byClaim] = await open(yaml('{ claim: who }')).said({ who })
      expect([byClaim]).toEqual(await open(yaml('{ header: who }')).said({}, { who }))
      expect(byClaim).toMatch(options !== '' ? /^hmac:/ : who === 'ann' ? /^ann$/ : /^sha256:/)
    }
})

test('claims are read once for a token, however many calls it makes, and each axis reads its own', async () => {
  const { said, saidBy, read } = open(`[{ name: user, from: [{ claim: email }] },
    { name: team, from: [{ claim: [org, unit] }] }]`)
  const claims = { email: 'ann', org: { unit: 'r' } }
  const token = tokenOf(START_MS, claims)
  for (let call = 0; call < 5; call += 1) expect(await saidBy(token)).toEqual(['ann', 'r'])
  expect(read.times).toBe(1)
  expect(await said({ ...claims, email: 'ben' })).toEqual(['ben', 'r'])
  expect(read.times).toBe(2)
})

test('a token that is not proven says nothing, whatever stands in it', async () => {
  const { said, read } = open('[{ name: user, from: [{ claim: email }] }]')
  expect(await said({ email: 'ann' })).toEqual(['ann'])
  expect(await said({ email: 'boss' }, {}, KEYS.foreign.privateKey)).toBe('token_refused')
  expect(await said({ email: 'boss', exp: START_MS / 1_000 - 31 })).toBe('token_refused')
  expect(read.times).toBe(1)
})

test('nothing is read where no axis has a claim as a source', () => {
  expect(open('[{ name: user, from: [{ header: x-user }] }]').reads).toBeUndefined()
  expect(claimedValues(undefined, 'pepper')).toBeUndefined()
})

const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-claims-'))
afterAll(() => rmSync(folder, { recursive: true }))

function load(yaml: string) {
  const file = join(folder, 'tallygate.yaml')
  writeFileSync(file, yaml)
  const stores = { DATABASE_URL: 'postgresql://x', REDIS_URL: 'redis://x', KEY_PEPPER: 'x' }
  const secret = { PROXY_SECRET: 'the-secret-of-this-test-long-enough' }
  return loadGatewayConfig({ ...stores, ...secret, UPSTREAM_URL: 'http://x', TALLYGATE_CONFIG: file })
}

const ISSUER = `
identity:
  issuers:
    - { name: corp, issuer: corp, audience: us, jwks_url: 'https://login.example.com', client: { name: acme } }`
const AXES = (claim: string) => `
axes:
  - name: user
    from: [{ claim: ${claim} }]`

test.each([
  ['an empty name', AXES('""') + ISSUER, 'axes[0].from[0]'],
  ['no name in a list', AXES('[]') + ISSUER, 'axes[0].from[0]'],
  ['a number', AXES('7') + ISSUER, 'axes[0].from[0]'],
  ['another setting beside it', AXES('a, member: b') + ISSUER, 'axes[0].from[0]'],
  ['no issuer', AXES('email'), 'axes must have no claim as a source: identity names no issuer of tokens'],
  [
    'a proxy alone',
    `${AXES('email')}\nidentity: { proxy: { secret_env: PROXY_SECRET, client: header } }`,
    'axes must have no claim as a source',
  ],
])('a claim as a source with %s is refused at the start', (_what, yaml, message) => {
  expect(() => load(yaml)).toThrow(message)
  expect(load(AXES('email') + ISSUER).axes?.list).toMatchObject([
    { from: [{ kind: 'claim', path: ['email'] }] },
  ])
})
