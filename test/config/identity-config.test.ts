import { describe, expect, test } from 'vitest'
import { identityShape } from '../../src/config/yaml/identity-config.ts'

const SECRET = 'a-secret-of-more-than-32-characters'
const shape = identityShape({
  PROXY_SECRET: `${SECRET},${SECRET}-2`,
  SHORT: 'short',
  EMPTY_PART: `${SECRET},`,
})
const CORP = {
  name: 'corp',
  issuer: 'https://login.example.com/',
  audience: 'tallygate',
  jwks_url: 'https://login.example.com/keys',
  client: { name: 'acme' },
}

function problemsOf(issuer: object, more: object = {}): readonly string[] {
  const { error } = shape.safeParse({ issuers: [{ ...CORP, ...issuer }], ...more })
  return error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? []
}

test('without more than it needs an issuer has bounds on time, signatures and what is made', () => {
  expect(shape.parse({ issuers: [CORP] })).toEqual({
    issuers: [
      {
        name: 'corp',
        issuer: 'https://login.example.com/',
        audiences: ['tallygate'],
        jwksUrl: 'https://login.example.com/keys',
        algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
        skewSeconds: 30,
        maxLifetimeSeconds: 86_400,
        subject: ['sub'],
        client: { kind: 'fixed', name: 'acme' },
        revokedFile: null,
      },
    ],
    proxy: null,
    mostKeys: 10_000,
    mostClients: 0,
  })
  expect(shape.parse({ proxy: { secret_env: 'PROXY_SECRET', client: 'header' } }).proxy).toMatchObject({
    secrets: [SECRET, `${SECRET}-2`],
    certificate: null,
  })
})

const CA_FILE = 'test/fixtures/tls/proxy/ca.pem'

test('the certificate of a proxy has a DNS name, a URI or a common name', () => {
  const names = ['Proxy.internal', 'spiffe://corp/edge', 'CN=edge proxy']
  const certificate = { ca_file: CA_FILE, names }
  expect(shape.parse({ proxy: { certificate, client: 'header' } }).proxy).toEqual({
    secrets: null,
    certificate: {
      caFile: CA_FILE,
      names: ['DNS:proxy.internal', 'URI:spiffe://corp/edge', 'CN=edge proxy'],
    },
    client: { kind: 'header' },
  })
})

describe('is refused:', () => {
  test.each([
    ['a secret as the key of signatures', { algorithms: ['HS256'] }],
    ['no signature', { algorithms: ['none'] }],
    ['no algorithm', { algorithms: [] }],
    ['keys by plain HTTP', { jwks_url: 'http://login.example.com/keys' }],
    ['keys by plain HTTP from a name that begins as this machine', { jwks_url: 'http://127.evil.example/' }],
    ['keys from a file', { jwks_url: 'file:///etc/keys' }],
    ['no audience', { audience: undefined }],
    ['an empty list of audiences', { audience: [] }],
    ['an empty audience', { audience: '' }],
    ['no client', { client: undefined }],
    ['a client by two rules', { client: { name: 'acme', claim: 'team' } }],
    ['tokens of a month', { max_lifetime_seconds: 2_592_000 }],
    ['clocks that differ by an hour', { clock_skew_seconds: 3_600 }],
    ['a setting that is not known', { jku: true }],
  ])('%s', (_, issuer) => {
    expect(problemsOf(issuer)).toHaveLength(1)
  })

  test.each([['SHORT'], ['EMPTY_PART'], ['UNSET']])('a proxy with the secret in %s', (secret_env) => {
    expect(problemsOf({}, { proxy: { secret_env, client: 'header' } })).toHaveLength(1)
  })

  test.each([
    ['nothing that proves it', undefined],
    ['a file that is not there', { ca_file: '/nowhere.pem', names: ['a'] }],
    ['a file without certificates', { ca_file: 'test/fixtures/tls/proxy/key.pem', names: ['a'] }],
    ['no names', { ca_file: CA_FILE }],
    ['an empty list of names', { ca_file: CA_FILE, names: [] }],
    ['a wildcard', { ca_file: CA_FILE, names: ['*.internal'] }],
    ['a URI with a comma', { ca_file: CA_FILE, names: ['spiffe://a, DNS:b'] }],
    ['a whole subject', { ca_file: CA_FILE, names: ['CN=a,O=b'] }],
    ['an empty name', { ca_file: CA_FILE, names: [''] }],
  ])('a proxy with %s', (_what, certificate) => {
    expect(problemsOf({}, { proxy: { certificate, client: 'header' } })).toHaveLength(1)
  })

  test('two issuers that call themselves the same', () => {
    const { error } = shape.safeParse({ issuers: [CORP, { ...CORP, name: 'other' }] })
    expect(error?.issues).toHaveLength(1)
  })
})
