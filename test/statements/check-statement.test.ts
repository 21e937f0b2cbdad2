import { expect, test } from 'vitest'
import { checkStatement, parsePublicKey, parseStatementFile } from '../../src/statements/check-statement.ts'
import { publicKeyOf, signText } from '../../src/statements/signed-statement.ts'
import { type StatedMonth, statementDocument } from '../../src/statements/statement-document.ts'

const PEPPER = 'a pepper of at least thirty-two characters'
const OTHER_KEY = publicKeyOf('another pepper').toString('base64')

const document = statementDocument(
  {
    clientId: 'cli_a',
    client: 'caf\u00e9 \u2028\u202e"\\ __proto__',
    month: '2026-10',
    requests: 3n,
    lines: [
      {
        ...{ model: 'gpt-4o', upstream: 'openai', priceId: 'p', price: null },
        ...{ name: 'as_metered', quantity: 3n, unit: 'call', unitPico: null, amountPico: 5_000_000_000n },
        class: null,
      },
    ],
    corrections: [],
    charges: [],
    chargesPico: 0n,
    carried: [],
    unpriced: [],
    costPico: 5_000_000_000n,
    totalPico: 5_000_000_000n,
  },
  {
    ...{ accepted: [], closedAt: new Date('2026-11-02T00:00:00Z'), previous: null },
    receipts: { count: 0, root: Buffer.alloc(32) },
  },
)
const signed = signText(JSON.stringify(document), PEPPER)
const FILE: StatedMonth = {
  statement: document,
  provisional: [],
  sha256: signed.sha256.toString('hex'),
  signature: signed.signature.toString('base64'),
  public_key: signed.publicKey.toString('base64'),
}
const TEXT = JSON.stringify(FILE)

function problemsOf(text: string, key: string | null = FILE.public_key): readonly string[] {
  const file = parseStatementFile(text)
  if (file === null) return ['unreadable']
  return checkStatement(file, key === null ? null : parsePublicKey(key))
}

test('a file is what was signed, however it is laid out', () => {
  expect(problemsOf(TEXT)).toEqual([])
  expect(problemsOf(JSON.stringify(FILE, null, 2), null)).toEqual([])
  const ascii = TEXT.replace(/[^ -~]/gu, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)
  expect(ascii).not.toBe(TEXT)
  expect(problemsOf(`\r\n${ascii}\n`)).toEqual([])
})

const { sha256, signature } = { sha256: FILE.sha256 ?? '', signature: FILE.signature ?? '' }

test.each([
  ['a second statement before it', '{"statement"', '{"statement":{"total_usd":"0"},"statement"'],
  ['a member twice', '"total_usd"', '"total_usd":"0","total_usd"'],
  ['a member twice, once escaped', '"total_usd"', '"total\\u005fusd":"0","total_usd"'],
  ['a prototype', '{"statement"', '{"__proto__":{"paid":true},"statement"'],
  ['a prototype in the statement', '{"version"', '{"__proto__":{"paid":true},"version"'],
  ['a member of no meaning', '{"statement"', '{"note":"paid","statement"'],
  ['a reason to be provisional', '"provisional":[]', '"provisional":[{"name":"gaps","says":"some"}]'],
  ['a number that rounds to the same', '"quantity":3', '"quantity":3.00000000000000000001'],
  ['a number written otherwise', '"requests":3', '"requests":3e0'],
  ['more behind the hash', sha256, `${sha256}zz`],
  ['the hash in capitals', sha256, sha256.toUpperCase()],
  ['more behind the signature', signature, `${signature}@@`],
  ['a signature without padding', signature, signature.replaceAll('=', '')],
  ['bits that base64 passes over', '==","public_key', 'x==","public_key'],
  ['a signature that is none', signature, 'AAAA'],
  ['no hash', `"${sha256}"`, 'null'],
  ['another key', FILE.public_key ?? '', OTHER_KEY],
])('a file with %s is refused', (_what, from, to) => {
  const changed = TEXT.replace(from, () => to)
  expect(changed).not.toBe(TEXT)
  expect(problemsOf(changed)).not.toEqual([])
})

test('text of another kind, however deep and long, is refused without a throw', () => {
  for (const text of ['', 'null', '[]', '{}', '['.repeat(200_000), `{"a":"${'\\\\'.repeat(2_000_000)}`])
    expect(problemsOf(text)).toEqual(['unreadable'])
  expect(parsePublicKey('AAAA')).toBe(null)
  expect(problemsOf(TEXT, Buffer.alloc(32).toString('base64'))).toEqual([
    'The statement is signed with another key than the expected one.',
  ])
})

test('a file of version 1, which has no receipts, is checked as it was', () => {
  const { receipts, ...older } = document
  const signed = signText(JSON.stringify({ ...older, version: 1 }), PEPPER)
  const file = {
    ...{ statement: { ...older, version: 1 }, provisional: [], sha256: signed.sha256.toString('hex') },
    ...{ signature: signed.signature.toString('base64'), public_key: signed.publicKey.toString('base64') },
  }
  expect(problemsOf(JSON.stringify(file))).toEqual([])
})
