import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, loadBillingConfig } from '../../src/config/config.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-billing-'))
})

afterAll(() => rmSync(folder, { recursive: true }))

function load(...lines: string[]) {
  const file = join(folder, 'billing.yaml')
  writeFileSync(file, lines.join('\n'))
  return loadBillingConfig({ TALLYGATE_CONFIG: file, STRIPE_KEY: 'sk_test_1', SPACED: 'a b' })
}

function problemsOf(...lines: string[]): readonly string[] {
  try {
    load(...lines)
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map((text) => text.replace(`${folder}/billing.yaml`, ''))
    throw error
  }
  return []
}

const METER = 'meters: [{ measure: cost_nanousd, as: llm_cost }]'

test('without the section, or without the file, there is no billing system', () => {
  expect(loadBillingConfig({})).toEqual([])
  expect(load('upstreams: []')).toEqual([])
})

test('a system has the address of its kind, and sums of hours', () => {
  expect(load('billing:', `  - { name: stripe, kind: stripe, secret_env: STRIPE_KEY, ${METER} }`)).toEqual([
    {
      name: 'stripe',
      kind: 'stripe',
      url: 'https://api.stripe.com',
      secret: 'sk_test_1',
      everyMs: 3_600_000,
      meters: [{ measure: 'cost_nanousd', name: 'llm_cost' }],
      byModel: false,
      sends: 'changes',
    },
  ])
})

test('what other sections lack on this machine does not keep a worker from starting', () => {
  const upstream = '  - { name: openai, url: "https://api.openai.com", api_key_env: NOT_HERE }'
  const lines = ['billing:', `  - { name: stripe, kind: stripe, secret_env: STRIPE_KEY, ${METER} }`]
  expect(load('upstreams:', upstream, ...lines)).toHaveLength(1)
})

test.each([
  ['a secret that is not set', `{ name: a, kind: stripe, secret_env: NO, ${METER} }`, /secret_env names NO/],
  ['a secret with a space', `{ name: a, kind: stripe, secret_env: SPACED, ${METER} }`, /has spaces/],
  [
    'a webhook without an address',
    `{ name: a, kind: webhook, secret_env: STRIPE_KEY, ${METER} }`,
    /url is missing/,
  ],
  [
    'an address with a password',
    `{ name: a, kind: webhook, url: "https://u:p@example.com", secret_env: STRIPE_KEY, ${METER} }`,
    /without a user or a password/,
  ],
  [
    'an address of another scheme',
    `{ name: a, kind: webhook, url: "file:///etc/passwd", secret_env: STRIPE_KEY, ${METER} }`,
    /must be an http or https URL/,
  ],
  [
    'fractions for Stripe',
    '{ name: a, kind: stripe, secret_env: STRIPE_KEY, meters: [{ measure: cost_usd, as: c }] }',
    /must be a whole number for stripe/,
  ],
  [
    'a measure that there is not',
    '{ name: a, kind: stripe, secret_env: STRIPE_KEY, meters: [{ measure: cost, as: c }] }',
    /must not be "cost", but one of cost_usd/,
  ],
  [
    'a meter twice',
    `{ name: a, kind: lago, secret_env: STRIPE_KEY, meters: [{ measure: requests, as: c }, { measure: images, as: c }] }`,
    /each name once/,
  ],
  ['no time', `{ name: a, kind: stripe, secret_env: STRIPE_KEY, every: 10s, ${METER} }`, /1m or longer/],
])('%s is refused, and no secret is said', (_, entry, problem) => {
  const problems = problemsOf('billing:', `  - ${entry}`)
  expect(problems).toEqual([expect.stringMatching(problem)])
  expect(problems.join()).not.toContain('sk_test_1')
})
