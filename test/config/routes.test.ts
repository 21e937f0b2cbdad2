import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, loadGatewayConfig } from '../../src/config/config.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-routes-'))
})

afterAll(() => rmSync(folder, { recursive: true }))

const UPSTREAMS = [
  'upstreams:',
  "  - { name: azure-eu, url: 'http://127.0.0.1:1', provider: openai }",
  "  - { name: openai, url: 'http://127.0.0.1:2', provider: openai }",
]

function load(...lines: string[]) {
  const file = join(folder, 'routes.yaml')
  writeFileSync(file, [...UPSTREAMS, ...lines].join('\n'))
  return loadGatewayConfig({
    REDIS_URL: 'redis://127.0.0.1:6379',
    DATABASE_URL: 'postgres://127.0.0.1/tallygate',
    KEY_PEPPER: 'pepper',
    TALLYGATE_CONFIG: file,
  })
}

function problemsOf(...lines: string[]): readonly string[] {
  try {
    load(...lines)
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map((text) => text.replace(`${folder}/routes.yaml`, ''))
    throw error
  }
  return []
}

test('a route has what it says, and the rest by default', () => {
  expect(
    load(
      'routes:',
      '  - model: gpt-4o',
      '    to: [{ upstream: azure-eu, model: gpt-4o-eu, weight: 3 }, { upstream: openai }]',
      '    retry: { on: [connect, 429, 5xx], attempts: 2 }',
      '    first_byte_timeout: 20s',
      '    sticky: session',
      '  - { model: fast, to: [{ upstream: openai, model: gpt-4o-mini }], order: price }',
    ).routes,
  ).toEqual([
    {
      model: 'gpt-4o',
      to: [
        { upstream: 'azure-eu', model: 'gpt-4o-eu', weight: 3 },
        { upstream: 'openai', model: 'gpt-4o', weight: 1 },
      ],
      retryOn: ['connect', '429', '5xx'],
      attempts: 2,
      firstByteTimeoutMs: 20_000,
      sticky: 'session',
      order: 'weight',
    },
    {
      model: 'fast',
      to: [{ upstream: 'openai', model: 'gpt-4o-mini', weight: 1 }],
      retryOn: ['connect', 'timeout', '408', '429', '5xx'],
      attempts: 3,
      firstByteTimeoutMs: null,
      sticky: null,
      order: 'price',
    },
  ])
})

test('without routes the configuration is as it was', () => {
  expect(load()).not.toHaveProperty('routes')
})

test('every mistake is named at once, with its line', () => {
  const problems = problemsOf(
    'routes:',
    '  - { model: a, to: [{ upstream: nowhere }, { upstream: openai }, { upstream: openai }] }',
    '  - { model: a, to: [{ upstream: openai }], sticky: client, order: listed }',
    "  - { model: 'b*', to: [] }",
    '  - { model: c, to: [{ upstream: openai, weight: 0 }], retry: { on: [418], attempts: 11 } }',
    '  - { model: d, to: [{ upstream: openai }], first_byte_timeout: 20, order: random, fallback: true }',
    '  - { to: [{ upstream: openai, modell: x }] }',
  )
  const expected = [
    ':5: the route a names the upstream nowhere, which must be one of azure-eu, openai',
    ':5: the route a has the target a at openai twice',
    ':6: the route a is there twice',
    ':6: the route a has sticky, which is for order: weight, and order: listed',
    ':7: routes[2].model must be one name',
    ':7: routes[2].to must name a target',
    ':8: routes[3].to[0].weight must be 1 or more',
    ':8: routes[3].retry.on[0] must be one of 408, 429, connect, timeout, 5xx',
    ':8: routes[3].retry.attempts must be at most 10',
    ':9: routes[4].first_byte_timeout must be text',
    ':9: routes[4].order must be one of weight, listed, price, health',
    ':9: routes[4].fallback is not a known setting',
    ':10: routes[5].model is missing',
    ':10: routes[5].to[0].modell is not a known setting',
  ]
  for (const one of expected) expect(problems).toContainEqual(expect.stringContaining(one))
  expect(problems).toHaveLength(expected.length)
})
