import { expect, test } from 'vitest'
import { readDeclared } from '../../../src/operator/apply/declared.ts'
import { planApply } from '../../../src/operator/apply/plan.ts'
import { OPERATIONS } from '../../../src/operator/chapters.ts'

const receiver = OPERATIONS.find(({ name }) => name === 'alerts.add')?.input ?? {}
const read = (text: string) => readDeclared(text, receiver, null)

test.each([
  ['an alias without an anchor', 'clients: *nowhere\n', /is not YAML: Unresolved alias/],
  [
    'aliases within aliases',
    `a: &a [x, x, x, x, x]\n${[...'bcdefgh'].map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[at]}`)}]`).join('\n')}`,
    /is not YAML: Excessive alias count/,
  ],
  [
    'more than 100 aliases',
    Array.from({ length: 101 }, (_, at) => `- &a${at} x\n- *a${at}\n`).join(''),
    /has more than 100 aliases/,
  ],
  ['a key that stands twice', 'clients: []\nclients: []\n', /has the key clients twice in one place/],
  ['keys that no file has', Array.from({ length: 2_000 }, (_, at) => `k${at}: x\n`).join(''), /k0/],
])('%s: refused as a document', (_, text, message) => {
  expect(() => read(text)).toThrow(message)
})

test('keys of two clients stay apart, wherever their names have slashes', () => {
  const declared = read(
    'clients: [{name: a/b, keys: [{name: c}], limits: [{kind: requests, limit: 5, key: c}]}]',
  )
  const client = { disabled: false, createdAt: new Date(0) }
  const key = { models: null, revokedAt: null, expiresAt: null }
  const standing = {
    groups: [],
    clients: [
      { ...client, id: 'cli_1', name: 'a' },
      { ...client, id: 'cli_2', name: 'a/b' },
    ],
    keys: [
      { ...key, id: 'key_2', client: 'a/b', name: 'c' },
      { ...key, id: 'key_1', client: 'a', name: 'b/c' },
    ],
    limits: [],
    tried: [],
    members: new Set(),
    receivers: [],
    contracts: [],
    charges: [],
    customers: [],
  } as unknown as Parameters<typeof planApply>[1]
  const { steps, keys } = planApply(declared, standing, false, 0)
  expect(steps.map(({ input }) => input(keys))).toEqual([
    expect.objectContaining({ client: 'a/b', key: 'key_2' }),
  ])
})
