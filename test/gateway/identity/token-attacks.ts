import { createHmac } from 'node:crypto'
import {
  AUDIENCE,
  base64url,
  claimsAt,
  ISSUER,
  JWKS_URL,
  KEYS,
  type Members,
  signTexts,
  tokenOf,
} from './provider.ts'

/** A token that must be refused. */
export interface TokenAttack {
  readonly name: string
  readonly make: (nowMs: number) => string
}

const { rsa, foreign } = KEYS
const HOUR_S = 3_600
const HEADER = JSON.stringify({ alg: 'ES256', kid: 'ec-1' })

function attack(name: string, make: (nowMs: number) => string): TokenAttack {
  return { name, make }
}

/** Right but for these members. */
function claims(name: string, more: (now: number) => Members): TokenAttack {
  return attack(name, (nowMs) => tokenOf(nowMs, more(Math.floor(nowMs / 1_000))))
}

function header(name: string, more: Members): TokenAttack {
  return attack(name, (nowMs) => tokenOf(nowMs, {}, more))
}

/** Signed by another key, whose key the header offers. */
function byAnother(name: string, more: Members): TokenAttack {
  return attack(name, (nowMs) => tokenOf(nowMs, {}, more, foreign.privateKey))
}

function unsigned(name: string, alg: unknown, signature = ''): TokenAttack {
  return attack(name, (nowMs) => {
    const body = JSON.stringify(claimsAt(nowMs))
    return `${base64url(JSON.stringify({ alg, typ: 'JWT' }))}.${base64url(body)}.${signature}`
  })
}

/** Signed with a public text as if it were a secret. */
function hmac(name: string, alg: string, secret: () => string | Buffer, kid = 'rsa-1'): TokenAttack {
  return attack(name, (nowMs) => {
    const head = base64url(JSON.stringify({ alg, kid, typ: 'JWT' }))
    const signed = `${head}.${base64url(JSON.stringify(claimsAt(nowMs)))}`
    return `${signed}.${base64url(
      createHmac(`sha${alg.slice(2)}`, secret())
        .update(signed)
        .digest(),
    )}`
  })
}

function reshaped(name: string, change: (parts: readonly [string, string, string]) => string): TokenAttack {
  return attack(name, (nowMs) => {
    const [head = '', body = '', signature = ''] = tokenOf(nowMs).split('.')
    return change([head, body, signature])
  })
}

function payload(name: string, json: (right: Members) => string, head = HEADER): TokenAttack {
  return attack(name, (nowMs) => signTexts(head, json(claimsAt(nowMs))))
}

/** The same bytes, written with other bits behind the last of them. */
function loosely(part: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(part.at(-1) ?? '')
  return part.slice(0, -1) + alphabet.charAt(last ^ 1)
}

const JWK_OF_ANOTHER = foreign.publicKey.export({ format: 'jwk' })
const PEM = () => rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString()

export const TOKEN_ATTACKS: readonly TokenAttack[] = [
  unsigned('without a signature, alg none', 'none'),
  unsigned('alg None', 'None'),
  unsigned('alg NONE, with some signature', 'NONE', 'AAAA'),
  unsigned('alg of nothing', ''),
  unsigned('alg null', null),
  unsigned('alg that is a list', ['none']),
  reshaped('its signature left out', ([head, body]) => `${head}.${body}.`),
  reshaped('its signature and dot left out', ([head, body]) => `${head}.${body}`),
  hmac('HS256 by the public key as PEM', 'HS256', PEM),
  hmac('HS256 by the public key without its last line end', 'HS256', () => PEM().trimEnd()),
  hmac('HS256 by the public key as DER', 'HS256', () =>
    rsa.publicKey.export({ format: 'der', type: 'spki' }),
  ),
  hmac('HS256 by the modulus', 'HS256', () => rsa.publicKey.export({ format: 'jwk' }).n ?? ''),
  hmac('HS512 by an empty secret', 'HS512', () => ''),
  hmac('HS384 with a path to an empty file as kid', 'HS384', () => '', '../../../../dev/null'),
  header('another algorithm than it was signed by', { alg: 'ES384' }),
  header('an algorithm of the set that the operator does not take', { alg: 'PS256', kid: 'rsa-1' }),
  header('the algorithm of the other key', { alg: 'RS256', kid: 'rsa-1' }),
  header('the kid of the other key', { kid: 'rsa-1' }),
  header('a kid that is a path', { kid: '../../etc/passwd' }),
  header('a kid that is SQL', { kid: "' union select 'x' --" }),
  header('a kid that is a number', { kid: 1 }),
  header('a kid of many characters', { kid: 'k'.repeat(300) }),
  header('a kid that objects have by nature', { kid: '__proto__' }),
  byAnother('signed by another key under a known kid', {}),
  byAnother('signed by another key that is embedded', { jwk: JWK_OF_ANOTHER }),
  byAnother('the same without a kid', { jwk: JWK_OF_ANOTHER, kid: undefined }),
  byAnother('signed by another key, with jku', { jku: 'https://evil.example/keys', kid: 'evil' }),
  byAnother('with a jku that begins as the right one', { jku: `${JWKS_URL}@evil.example/`, kid: 'evil' }),
  byAnother('signed by another key, with x5u', { x5u: 'https://evil.example/cert.pem', kid: 'evil' }),
  byAnother('signed by another key, with x5c', { x5c: ['MIIB'], kid: 'evil' }),
  header('crit of an extension', { crit: ['exp'], exp: 1 }),
  header('crit of nothing', { crit: [] }),
  header('a payload that is not base64', { b64: false, crit: ['b64'] }),
  claims('another audience', () => ({ aud: 'another' })),
  claims('no audience', () => ({ aud: undefined })),
  claims('a list of other audiences', () => ({ aud: ['another', `${AUDIENCE} `, `x${AUDIENCE}`] })),
  claims('an audience in other letters', () => ({ aud: AUDIENCE.toUpperCase() })),
  claims('an audience within an object', () => ({ aud: { [AUDIENCE]: true } })),
  claims('an audience within a list of a list', () => ({ aud: [[AUDIENCE]] })),
  claims('another issuer', () => ({ iss: 'https://evil.example/' })),
  claims('the issuer without its slash', () => ({ iss: ISSUER.slice(0, -1) })),
  claims('a list of issuers', () => ({ iss: [ISSUER] })),
  claims('no issuer', () => ({ iss: undefined })),
  claims('expired a minute ago', (now) => ({ exp: now - 60 })),
  claims('no end', () => ({ exp: undefined })),
  claims('an end as text', (now) => ({ exp: `${now + HOUR_S}` })),
  claims('an end of 1e300', () => ({ exp: 1e300 })),
  claims('an end in milliseconds', (now) => ({ exp: (now + HOUR_S) * 1_000 })),
  claims('an end in a year', (now) => ({ exp: now + 365 * 24 * HOUR_S })),
  claims('a negative end', () => ({ exp: -1 })),
  claims('not valid before an hour from now', (now) => ({ nbf: now + HOUR_S })),
  claims('nbf as text', (now) => ({ nbf: `${now - 1}` })),
  claims('made in an hour', (now) => ({ iat: now + HOUR_S })),
  claims('no subject', () => ({ sub: undefined })),
  claims('an empty subject', () => ({ sub: '' })),
  claims('a subject that is a list', () => ({ sub: ['ann'] })),
  claims('a subject of many characters', () => ({ sub: 'a'.repeat(300) })),
  claims('no team', () => ({ team: undefined })),
  claims('several teams', () => ({ team: ['research', 'sales'] })),
  claims('a team that there is not', () => ({ team: 'board' })),
  claims('a team with what cannot be seen', () => ({ team: 'research​' })),
  claims('a team in other letters', () => ({ team: 'ｒesearch' })),
  claims('a team within an object', () => ({ team: { name: 'research' } })),
  payload('the audience twice', (right) =>
    JSON.stringify({ ...right, aud: 'another' }).replace('"aud"', `"aud":"${AUDIENCE}","aud"`),
  ),
  payload('the end twice', (right) => JSON.stringify(right).replace('"exp"', '"exp":1,"exp"')),
  payload('a member twice, once written with an escape', (right) =>
    JSON.stringify(right).replace('"team"', String.raw`"te\u0061m":"sales","team"`),
  ),
  payload('a member twice, deep inside', (right) =>
    JSON.stringify(right).replace('{', '{"realm":{"roles":["a"],"roles":["b"]},'),
  ),
  payload(
    'the algorithm twice',
    (right) => JSON.stringify(right),
    '{"alg":"none","alg":"ES256","kid":"ec-1"}',
  ),
  payload('a payload that is a list', (right) => JSON.stringify([right])),
  payload('a payload that is a text', () => '"ann"'),
  payload('a payload that is another token', (right) => signTexts(HEADER, JSON.stringify(right))),
  payload('a payload that is not JSON', () => '{"iss":'),
  payload('a header that is a list', (right) => JSON.stringify(right), '[{"alg":"ES256"}]'),
  payload('claims under __proto__', (right) => `{"__proto__":${JSON.stringify(right)}}`),
  attack('bytes beyond UTF-8', (nowMs) => {
    const [head = ''] = tokenOf(nowMs).split('.')
    return `${head}.${base64url(Buffer.from('7b22c328', 'hex'))}.AAAA`
  }),
  attack('more than 8 KB', (nowMs) => tokenOf(nowMs, { filling: 'x'.repeat(9_000) })),
  attack('a megabyte', () => `eyJ${'A'.repeat(1_000_000)}.e30.AAAA`),
  reshaped(
    'five parts, as an encrypted one',
    ([head, body, signature]) => `${head}.${body}.${signature}.AA.AA`,
  ),
  reshaped('four parts', ([head, body, signature]) => `${head}.${body}.${signature}.AA`),
  reshaped('padding', ([head, body, signature]) => `${head}=.${body}==.${signature}==`),
  reshaped('a line end in its signature', ([head, body, signature]) => `${head}.${body}.${signature}\n`),
  reshaped('a space before its payload', ([head, body, signature]) => `${head}. ${body}.${signature}`),
  reshaped('other bits behind the last of its signature', ([head, body, signature]) =>
    [head, body, loosely(signature)].join('.'),
  ),
  reshaped(
    'letters of the other base64',
    ([head, body, signature]) => `${head}.${body}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+`,
  ),
  reshaped('the payload of another token', ([head, , signature]) =>
    [head, base64url(JSON.stringify({ iss: ISSUER, aud: AUDIENCE, sub: 'eve', exp: 9e9 })), signature].join(
      '.',
    ),
  ),
  reshaped('a signature of zeros', ([head, body]) => `${head}.${body}.${base64url(Buffer.alloc(64))}`),
  reshaped('a signature in DER', ([head, body]) => {
    const zero = Buffer.from('3006020100020100', 'hex')
    return `${head}.${body}.${base64url(zero)}`
  }),
  reshaped('two dots alone', () => 'eyJ..'),
]
