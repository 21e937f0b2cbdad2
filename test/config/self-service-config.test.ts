import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadGatewayConfig } from '../../src/config/config.ts'
import { selfServiceShape } from '../../src/config/yaml/self-service-config.ts'
import { isWithinModels, policyOf } from '../../src/domain/member-policy.ts'

const shape = selfServiceShape({ SECRET: 'a secret' })
const LEAST = {
  issuer: 'https://login.example.com/',
  client_id: 'portal',
  public_url: 'https://portal.example.com/',
  groups: [{ group: 'search', members: ['search'] }],
}

function problemsOf(more: object): readonly string[] {
  const { error } = shape.safeParse({ ...LEAST, ...more })
  return error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? []
}

test('without more than it needs self-service has bounds on time, members and keys', () => {
  expect(shape.parse(LEAST)).toEqual({
    issuer: 'https://login.example.com/',
    clientId: 'portal',
    clientSecret: null,
    publicUrl: 'https://portal.example.com',
    scope: 'openid email profile',
    groups: ['groups'],
    name: ['email'],
    sessionSeconds: 3_600,
    memberDays: 30,
    mostMembers: 1_000,
    policies: [
      { group: 'search', members: ['search'], owners: [], mostKeys: 5, models: null, memberBudgetPico: null },
    ],
  })
})

test.each<[string, object, string]>([
  ['a provider over plain HTTP', { issuer: 'http://login.example.com/' }, 'issuer must be an https:// URL'],
  [
    'a secret that is not set',
    { client_secret_env: 'OTHER' },
    'client_secret_env names OTHER, which is not set',
  ],
  ['no group', { groups: [] }, 'groups must name a group'],
  ['a group of no person', { groups: [{ group: 'a' }] }, 'groups.0 must have members or owners'],
  [
    'a group twice',
    {
      groups: [
        { group: 'a', members: ['x'] },
        { group: 'a', owners: ['y'] },
      ],
    },
    'groups must name each group once',
  ],
  ['keys without an end', { member_days: 0 }, 'member_days must be 1 or more'],
  ['keys that end too late', { member_days: 91 }, 'member_days must be at most 90'],
  [
    'a budget of nothing',
    { groups: [{ group: 'a', members: ['x'], member_budget_usd: 0 }] },
    'groups.0.member_budget_usd must be US dollars above 0, such as 50, up to 1000000000',
  ],
  [
    'a pattern that is none',
    { groups: [{ group: 'a', members: ['x'], models: ['gpt-*-mini'] }] },
    'groups.0.models.0 must be the name of a model; a * may only end it',
  ],
])('%s is refused', (_, more, problem) => {
  expect(problemsOf(more)).toEqual([problem])
})

test('a budget is exact, as text or as a number', () => {
  const budgetOf = (written: unknown) =>
    shape.parse({ ...LEAST, groups: [{ group: 'a', members: ['x'], member_budget_usd: written }] })
      .policies[0]?.memberBudgetPico
  expect(budgetOf('0.000000000001')).toBe(1n)
  expect(budgetOf(50)).toBe(50_000_000_000_000n)
})

test('it is off by default, and refused without the port of the clients’ page', async () => {
  const env = {
    UPSTREAM_URL: 'http://127.0.0.1:9',
    DATABASE_URL: 'postgres://localhost/x',
    REDIS_URL: 'redis://localhost',
    KEY_PEPPER: 'pepper-of-the-tests-0123456789',
  }
  expect(loadGatewayConfig(env).selfService).toBe(undefined)
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-self-'))
  const file = join(folder, 'tallygate.yaml')
  try {
    await writeFile(file, JSON.stringify({ self_service: LEAST }))
    expect(loadGatewayConfig({ ...env, TALLYGATE_CONFIG: file, PORTAL_PORT: '0' }).selfService).toEqual(
      shape.parse(LEAST),
    )
    expect(() => loadGatewayConfig({ ...env, TALLYGATE_CONFIG: file })).toThrow('PORTAL_PORT: is not set')
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('the first entry that fits is a person’s, and owners are those of that entry', () => {
  const entry = { mostKeys: 1, models: null, memberBudgetPico: null }
  const search = { ...entry, group: 'search', members: ['search'], owners: ['leads'] }
  const ads = { ...entry, group: 'ads', members: ['ads', 'leads'], owners: ['ads-leads'] }
  const of = (...groups: unknown[]) => policyOf([search, ads], new Set(groups))
  expect(of('ads', 'search')).toEqual({ policy: search, isOwner: false })
  expect(of('leads')).toEqual({ policy: search, isOwner: true })
  expect(of('search', 'ads-leads')).toEqual({ policy: search, isOwner: false })
  expect(of('ads-leads')).toEqual({ policy: ads, isOwner: true })
  for (const groups of [[], ['Search'], ['search '], [['search']], [{ search: true }], [undefined]])
    expect(of(...groups)).toBe(null)
})

test('a list of models is within another where no model gets through that the other refuses', () => {
  const allowed = ['gpt-4o', 'claude-*']
  for (const models of [['gpt-4o'], ['claude-*'], ['claude-3*'], ['claude-3', 'gpt-4o'], ['claude-']])
    expect(isWithinModels(models, allowed), models.join()).toBe(true)
  for (const models of [
    null,
    ['*'],
    ['gpt-4o*'],
    ['gpt-4o-mini'],
    ['claude*'],
    ['Claude-3'],
    ['gpt-4o', 'o1'],
  ])
    expect(isWithinModels(models, allowed), `${models}`).toBe(false)
  for (const models of [null, ['*'], []]) expect(isWithinModels(models, null)).toBe(true)
})
