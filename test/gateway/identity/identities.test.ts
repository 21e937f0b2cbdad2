import { expect, test } from 'vitest'
import { type CORP, claimsAt, JWKS_URL, jwksOf, KEYS, standIn, tokenOf, tokenOfText } from './provider.ts'

const START_MS = Date.parse('2026-11-26T00:20:00Z')
const HOUR_MS = 3_600_000

function open(change: Parameters<typeof standIn>[1] = {}, jwks?: string | Error) {
  const clock = { nowMs: START_MS }
  const standin = standIn(() => clock.nowMs, change, jwks)
  const find = async (token: string) => await standin.identities.find(token)
  return { ...standin, clock, find }
}

test('a token is verified once, and found in memory after that, without asking its provider', async () => {
  const { find, identities, state } = open()
  const token = tokenOf(START_MS)
  const first = await find(token)
  expect(first).toMatchObject({
    kind: 'active',
    caller: { clientName: 'research', keyName: 'ann', tokenEndsAtMs: START_MS + 630_000 },
  })
  // No promise: nothing is waited for.
  expect(identities.find(token)).toBe(first)
  expect(state.fetches).toEqual([JWKS_URL])
  expect(state.registered).toHaveLength(1)
})

test('an identity has the same key with each of its tokens, and another one at another client', async () => {
  const { find } = open()
  const keyIdOf = async (claims: object) => {
    const found = await find(tokenOf(START_MS, { ...claims }))
    return found.kind === 'active' ? found.caller.keyId : found.kind
  }
  const ann = await keyIdOf({ jti: '1' })
  expect(ann).toMatch(/^key_[0-9A-Za-z]{20}$/)
  expect(await keyIdOf({ jti: '2' })).toBe(ann)
  const others = [await keyIdOf({ team: 'sales' }), await keyIdOf({ sub: 'bob' })]
  expect(new Set([ann, ...others]).size).toBe(3)
})

test('many calls with a new token verify it and make its key once at a time', async () => {
  const { find, state } = open()
  const token = tokenOf(START_MS)
  await Promise.all(Array.from({ length: 50 }, () => find(token)))
  expect(state.registered).toHaveLength(1)
})

test('a token ends with its skew, and one that was found in memory as well', async () => {
  const { find, clock } = open()
  const token = tokenOf(START_MS)
  expect((await find(token)).kind).toBe('active')
  clock.nowMs = START_MS + 629_000
  expect((await find(token)).kind).toBe('active')
  clock.nowMs = START_MS + 630_000
  expect(await find(token)).toMatchObject({ reason: 'token_expired' })
  const early = tokenOf(START_MS, { nbf: START_MS / 1_000 + 700, exp: START_MS / 1_000 + 900 })
  expect(await find(early)).toMatchObject({ reason: 'token_not_yet' })
  clock.nowMs = START_MS + 671_000
  expect((await find(early)).kind).toBe('active')
})

test('a subject or token that the list names is refused, known or not', async () => {
  const { find, state } = open()
  const ann = tokenOf(START_MS, { jti: 't-1' })
  const again = tokenOf(START_MS, { jti: 't-2' })
  const bob = tokenOf(START_MS, { sub: 'bob' })
  for (const token of [ann, again, bob]) expect((await find(token)).kind).toBe('active')
  state.revoked.add('jti t-1')
  expect(await find(ann)).toMatchObject({ reason: 'token_revoked' })
  expect((await find(again)).kind).toBe('active')
  state.revoked.add('sub bob')
  for (const token of [ann, bob]) expect(await find(token)).toMatchObject({ reason: 'token_revoked' })
})

test('a token whose id is a long number is refused by that number, and none beside it', async () => {
  const { find, state } = open()
  const tokenWith = (jti: string) =>
    tokenOfText(JSON.stringify(claimsAt(START_MS, { jti: 'ID' })).replace('"ID"', jti))
  state.revoked.add('jti 1234567890123456789')
  expect(await find(tokenWith('1234567890123456789'))).toMatchObject({ reason: 'token_revoked' })
  expect((await find(tokenWith('1234567890123456788'))).kind).toBe('active')
})

test('a key that is revoked, and a client that is disabled, end what their tokens may', async () => {
  const { find, known } = open()
  const token = tokenOf(START_MS)
  const found = await find(token)
  const keyId = found.kind === 'active' ? found.caller.keyId : ''
  known.set(keyId, { kind: 'key_inactive' })
  expect((await find(token)).kind).toBe('key_inactive')
  expect((await find(tokenOf(START_MS, { jti: 'new' }))).kind).toBe('key_inactive')
  known.set(keyId, { kind: 'client_disabled' })
  expect((await find(token)).kind).toBe('client_disabled')
})

test('while the provider is away its keys go on for a day, new tokens included, and not longer', async () => {
  const { find, state, clock, keys } = open()
  const known = tokenOf(START_MS, { exp: START_MS / 1_000 + 80_000 })
  expect((await find(known)).kind).toBe('active')
  state.jwks = new Error('away')
  clock.nowMs = START_MS + HOUR_MS
  expect((await find(known)).kind).toBe('active')
  expect((await find(tokenOf(clock.nowMs))).kind).toBe('active')
  clock.nowMs = START_MS + 24 * HOUR_MS + 1
  expect((await find(tokenOf(clock.nowMs))).kind).toBe('unavailable')
  expect(keys.state().isUsable).toBe(false)
})

test('a provider that was away at the start is asked again, and calls are 503 until then', async () => {
  const { find, state, refetch, keys } = open({}, new Error('away'))
  const token = tokenOf(START_MS)
  expect((await find(token)).kind).toBe('unavailable')
  expect(keys.state().problem).toBe('away')
  state.jwks = jwksOf(['ec-1', KEYS.ec.publicKey])
  await refetch()
  await expect.poll(async () => (await find(token)).kind).toBe('active')
  expect(keys.state().problem).toBe(null)
})

test('a new key is taken when a token names it; a thousand unknown ones have the set fetched once more', async () => {
  const { find, state } = open()
  expect((await find(tokenOf(START_MS))).kind).toBe('active')
  state.jwks = jwksOf(['ec-1', KEYS.ec.publicKey], ['new', KEYS.foreign.publicKey])
  const rotated = tokenOf(START_MS, { sub: 'bob' }, { kid: 'new' }, KEYS.foreign.privateKey)
  expect((await find(rotated)).kind).toBe('active')
  expect(state.fetches).toHaveLength(2)
  for (let i = 0; i < 1_000; i += 1) {
    const token = tokenOf(START_MS, {}, { kid: `unknown-${i}`, jku: 'https://evil.example/' })
    expect(await find(token)).toMatchObject({ reason: 'token_key' })
  }
  expect(state.fetches).toEqual([JWKS_URL, JWKS_URL])
})

test('a set of keys in the background takes the place of the one before: a key that is gone signs nothing', async () => {
  const { find, state, refetch } = open()
  expect((await find(tokenOf(START_MS))).kind).toBe('active')
  state.jwks = jwksOf(['rsa-1', KEYS.rsa.publicKey])
  await refetch()
  await expect
    .poll(async () => await find(tokenOf(START_MS, { sub: 'bob' })))
    .toMatchObject({ reason: 'token_key' })
  expect((await find(tokenOf(START_MS, {}, {}, KEYS.rsa.privateKey))).kind).toBe('active')
})

test('keys that are short, for encryption, of secrets or unreadable are not taken', async () => {
  const jwk = KEYS.ec.publicKey.export({ format: 'jwk' })
  const set = JSON.stringify({
    keys: [
      { ...jwk, kid: 'ec-1', use: 'enc' },
      { ...jwk, kid: 'ec-1', key_ops: ['encrypt'] },
      { ...jwk, kid: 'ec-1', alg: 'ES384' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'ec-1', alg: 'HS256' },
      { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'ec-1' },
      'text',
      { ...KEYS.rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa-1' },
    ],
  })
  const { find } = open({}, set)
  expect(await find(tokenOf(START_MS))).toMatchObject({ reason: 'token_key' })
  expect((await find(tokenOf(START_MS, {}, {}, KEYS.rsa.privateKey))).kind).toBe('active')
})

test('a client is found by a name, a claim at a path, or the first value of a map', async () => {
  const nameBy = async (client: (typeof CORP)['client'], claims: object) => {
    const found = await open({ client }).find(tokenOf(START_MS, { ...claims }))
    return found.kind === 'active' ? found.caller.clientName : found
  }
  expect(await nameBy({ kind: 'fixed', name: 'sales' }, {})).toBe('sales')
  expect(await nameBy({ kind: 'claim', path: ['org', 'unit'] }, { org: { unit: 'sales' } })).toBe('sales')
  const map = {
    kind: 'map',
    path: ['groups'],
    names: [
      ['eng', 'research'],
      ['biz', 'sales'],
    ],
  } as const
  expect(await nameBy(map, { groups: ['all', 'biz', 'eng'] })).toBe('research')
  expect(await nameBy(map, { groups: 'biz' })).toBe('sales')
  for (const groups of [['ENG'], ['eng​'], ['ｅng'], [['eng']], { eng: true }, undefined])
    expect(await nameBy(map, { groups })).toMatchObject({ reason: 'token_client' })
})

test('who finds no room is refused, and looked for again only after some seconds', async () => {
  const { find, state } = open()
  state.refusal = 'full'
  expect(await find(tokenOf(START_MS))).toMatchObject({ reason: 'token_full' })
  state.refusal = null
  expect(await find(tokenOf(START_MS, { jti: '2' }))).toMatchObject({ reason: 'token_full' })
  expect(state.registered).toEqual([])
})

test('known identities go on while the store is away, and new ones are not refused for good', async () => {
  const { find, state } = open()
  const token = tokenOf(START_MS)
  expect((await find(token)).kind).toBe('active')
  state.isStoreAway = true
  expect((await find(token)).kind).toBe('active')
  const bob = tokenOf(START_MS, { sub: 'bob' })
  await expect(find(bob)).rejects.toThrow('the store is away')
  state.isStoreAway = false
  expect((await find(bob)).kind).toBe('active')
})

test('a caller knows that its token is over, however many came since', async () => {
  const { find, state, refetch } = open()
  const over = async (token: string) => {
    const found = await find(token)
    return found.kind === 'active' ? found.caller.isTokenOver : undefined
  }
  const ann = await over(tokenOf(START_MS, { jti: 7 }))
  const bob = await over(tokenOf(START_MS, { sub: 'bob' }))
  await refetch()
  expect([ann?.(), bob?.()]).toEqual([false, false])
  state.revoked.add('jti 7')
  expect([ann?.(), bob?.()]).toEqual([true, false])
  state.jwks = jwksOf(['rsa-1', KEYS.rsa.publicKey])
  await refetch()
  await expect.poll(() => bob?.()).toBe(true)
})

test('a token that was found in memory ends with its key, and with the day that keys go on for', async () => {
  const { find, identities, state, clock, refetch } = open({ maxLifetimeSeconds: 604_800 })
  const known = tokenOf(START_MS, { exp: START_MS / 1_000 + 600_000 })
  const first = await find(known)
  await refetch()
  // The same key, fetched again: nothing is verified twice.
  expect(identities.find(known)).toBe(first)
  state.jwks = new Error('away')
  clock.nowMs = START_MS + 24 * HOUR_MS + 1
  expect((await find(known)).kind).toBe('unavailable')
  state.jwks = jwksOf(['ec-2', KEYS.ec.publicKey])
  await refetch()
  await expect.poll(async () => await find(known)).toMatchObject({ reason: 'token_key' })
})

test('a client that was renamed is not found by its old name, which another one may have', async () => {
  const { find, identities, known } = open()
  const token = tokenOf(START_MS)
  const found = await find(token)
  if (found.kind !== 'active') throw new Error(found.kind)
  const { keyId } = found.caller
  const renamed = { kind: 'active', caller: { ...found.caller, clientName: 'platform' } } as const
  known.set(keyId, renamed)
  expect(await find(token)).toMatchObject({ reason: 'token_client' })
  expect(await find(tokenOf(START_MS, { jti: 'new' }))).toMatchObject({ reason: 'token_client' })
  const vouched = await identities.findVouched('ann', 'research')
  if (vouched.kind !== 'active') throw new Error(vouched.kind)
  known.set(vouched.caller.keyId, renamed)
  expect(await identities.findVouched('ann', 'research')).toMatchObject({ reason: 'token_client' })
})

test('a token that is nested deep is refused before its signature is looked at', async () => {
  const { find } = open()
  const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
  expect((await find(tokenOf(START_MS, { more: nested(30) }))).kind).toBe('active')
  for (const depth of [40, 2_500])
    expect(await find(tokenOf(START_MS, { more: nested(depth) }))).toMatchObject({
      reason: 'token_malformed',
    })
})
