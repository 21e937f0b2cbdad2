import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type KeyPlan, planKeys } from '../../src/litellm/keys/plan-keys.ts'
import type { LiteLlmTables, Row } from '../../src/litellm/keys/tables.ts'

const TOKEN = createHash('sha256').update('sk-1').digest('hex')

function plan(key: Row, others: Partial<LiteLlmTables> = {}, takesPartly = false): KeyPlan {
  const tables = { teams: [], users: [], budgets: [], ...others, keys: [{ token: TOKEN, ...key }] }
  return planKeys(tables, takesPartly)
}

const limitsOf = (key: Row, others?: Partial<LiteLlmTables>) => plan(key, others).keys[0]?.limits
const modelsOf = (key: Row, others?: Partial<LiteLlmTables>) => plan(key, others).keys[0]?.models
const whyOf = (key: Row, others?: Partial<LiteLlmTables>) => plan(key, others).left[0]?.why

describe('whose a key is', () => {
  test('a team comes before a user, and its alias is the name of the client', () => {
    const teams = [{ team_id: 't1', team_alias: 'Search', blocked: true }]
    const users = [{ user_id: 'u1', user_email: 'a@example.com' }]
    expect(plan({ team_id: 't1', user_id: 'u1' }, { teams, users }).keys[0]).toMatchObject({
      client: { origin: 'litellm:team:t1', name: 'Search', isDisabled: true },
      lost: ['its user u1 is not kept apart in the team'],
    })
    expect(plan({ user_id: 'u1' }, { teams, users }).keys[0]?.client.name).toBe('a@example.com')
    expect(plan({}).keys[0]?.client).toMatchObject({ origin: 'litellm:none', name: 'litellm' })
  })

  test('a name that would move a cursor is not taken, and one that is a formula or markup is only a text', () => {
    for (const team_alias of ['<script>alert(1)</script>', '=HYPERLINK("x")'])
      expect(plan({ team_id: 't' }, { teams: [{ team_id: 't', team_alias }] }).keys[0]?.client.name).toBe(
        team_alias,
      )
    expect(
      plan({ team_id: 't', key_alias: 'a\u202Eb' }, { teams: [{ team_id: 't', team_alias: '\u001b[2J' }] }),
    ).toMatchObject({ keys: [{ name: 'litellm', client: { name: 't' } }] })
  })
})

describe('which models a key may use', () => {
  const team = (models: string[]) => ({ teams: [{ team_id: 't', models }] })

  test('all-team-models are those of the team, and without a team none', () => {
    expect(modelsOf({ team_id: 't', models: ['all-team-models'] }, team(['a', 'b*']))).toEqual(['a', 'b*'])
    expect(modelsOf({ team_id: 't', models: ['all-team-models'] }, team([]))).toBeNull()
    expect(whyOf({ models: ['all-team-models'] })).toBe('it may use no model')
  })

  test('a key is held to its team, whatever its own list says', () => {
    expect(modelsOf({ team_id: 't', models: [] }, team(['a']))).toEqual(['a'])
    expect(modelsOf({ team_id: 't', models: ['*'] }, team(['a']))).toEqual(['a'])
    expect(modelsOf({ team_id: 't', models: ['gpt-*', 'z'] }, team(['gpt-4o', 'claude-*']))).toEqual([
      'gpt-4o',
    ])
    expect(whyOf({ team_id: 't', models: ['z'] }, team(['a']))).toBe('it may use no model')
    expect(whyOf({ team_id: 'gone', models: [] })).toBe('its team gone is not in the table of teams')
  })

  test.each([
    'gpt-4o',
    ['gpt-4o', 5],
    [null],
    { 'gpt-4o': true },
  ])('a list of names that is %j does not become every model', (models) => {
    expect(whyOf({ models })).toBe('its models is not a list of texts')
    expect(whyOf({ team_id: 't' }, { teams: [{ team_id: 't', models }] })).toBe(
      "its team's models is not a list of texts",
    )
  })

  test('a list of which nothing can be said here allows nothing', () => {
    expect(whyOf({ models: ['no-default-models'] })).toBe('it may use no model')
    expect(whyOf({ models: ['*-mini'] })).toBe('it may use no model')
    expect(plan({ models: ['*-mini', 'gpt-4o'] }).keys[0]).toMatchObject({
      models: ['gpt-4o'],
      lost: ['its model *-mini is neither a name nor prefix*'],
    })
  })
})

describe('limits', () => {
  test.each([
    ['1d', 'day'],
    ['7d', 'week'],
    ['30d', 'month'],
    ['1mo', 'month'],
  ])('a budget for %s begins again each %s', (budget_duration, per) => {
    expect(limitsOf({ max_budget: 12.5, budget_duration, spend: 3 })).toEqual([
      { kind: 'budget', per, isSoft: false, model: null, amount: 12_500_000_000_000n },
    ])
  })

  test('a budget that never begins again is taken with what is left of it, and a spent one lets nothing pass', () => {
    const amountOf = (row: Row) => limitsOf(row)?.[0]?.amount
    expect(amountOf({ max_budget: 10, spend: 4.25 })).toBe(5_750_000_000_000n)
    expect(amountOf({ max_budget: 10, spend: 11 })).toBe(1n)
    expect(amountOf({ max_budget: 0 })).toBe(1n)
  })

  test.each([
    'NaN',
    'Infinity',
    1e300,
    2e9,
    {},
  ])('a budget of which %j is spent is not taken as a whole one', (spend) => {
    expect(whyOf({ max_budget: 10, spend })).toContain('what is spent of its budget')
    expect(limitsOf({ max_budget: 10, budget_duration: '1d', spend })).toHaveLength(1)
  })

  test('a budget that more was given back of than was spent is as large as it was', () => {
    for (const spend of [-3, null, 0])
      expect(limitsOf({ max_budget: 10, spend })?.[0]?.amount).toBe(10_000_000_000_000n)
  })

  test('budgets of models are those of the budget that a key names, where it has none of its own', () => {
    const budgets = [
      { budget_id: 'b', model_max_budget: { 'gpt-4o': { budget_limit: 1, time_period: '1d' } } },
    ]
    const own = { 'gpt-4o': { budget_limit: 2, time_period: '1d' } }
    for (const [model_max_budget, amount] of [
      [null, 1_000_000_000_000n],
      [{}, 1_000_000_000_000n],
      [own, 2_000_000_000_000n],
    ] as const)
      expect(limitsOf({ budget_id: 'b', model_max_budget }, { budgets })).toMatchObject([
        { model: 'gpt-4o', per: 'day', amount },
      ])
  })

  test('rates, calls at once, soft budgets and those of a model are limits, also of the budget that a key names', () => {
    const budgets = [{ budget_id: 'b', max_budget: 5, soft_budget: 4, budget_duration: '1d', rpm_limit: 7 }]
    const row = {
      budget_id: 'b',
      tpm_limit: 1_000,
      rpm_limit: 3,
      max_parallel_requests: 2,
      model_max_budget: { 'gpt-4o': { budget_limit: 1, time_period: '1d' } },
      metadata: { model_rpm_limit: { 'gpt-4o': 1 } },
    }
    expect(
      limitsOf(row, { budgets })?.map(({ kind, per, isSoft, model, amount }) =>
        [kind, per, isSoft, model, amount].join(' '),
      ),
    ).toEqual([
      'budget day false  5000000000000',
      'budget day true  4000000000000',
      'requests  false  3',
      'tokens  false  1000',
      'concurrent  false  2',
      'budget day false gpt-4o 1000000000000',
      'requests  false gpt-4o 1',
    ])
  })

  test.each([
    [{ max_budget: 'NaN' }, 'its budget of NaN'],
    [{ max_budget: 'Infinity' }, 'its budget of Infinity'],
    [{ max_budget: -5 }, 'its budget of -5'],
    [{ max_budget: 1e300 }, 'its budget of 1e+300'],
    [{ max_budget: 1, budget_duration: '3h' }, 'its budget for 3h has no period'],
    [{ max_budget: 1, budget_duration: 'constructor' }, 'its budget for constructor has no period'],
    [{ rpm_limit: 0 }, 'its limit of 0'],
    [{ tpm_limit: -1 }, 'its limit of -1'],
    [{ tpm_limit: 1.5 }, 'its limit of 1.5'],
    [{ tpd_limit: 5 }, 'its tokens a day'],
    [{ organization_id: 'o' }, 'its organization'],
    [{ model_max_budget: { x: 5 } }, 'its budget of nothing'],
  ])('a key with %j is left, or taken without it where that is asked for', (row, why) => {
    expect(whyOf(row)).toContain(why)
    expect(plan(row, {}, true)).toMatchObject({
      left: [],
      keys: [{ limits: [], lost: [expect.stringContaining(why)] }],
    })
  })

  test('what cannot be taken of a team leaves its keys', () => {
    const teams = [{ team_id: 't', max_budget: -1 }]
    expect(whyOf({ team_id: 't' }, { teams })).toContain("its team's budget of -1")
  })
})

test('ends, blocks and tokens are read as LiteLLM has them', () => {
  expect(plan({ expires: '2026-12-01T00:00:00.5', blocked: true }).keys[0]).toMatchObject({
    expiresAt: new Date('2026-12-01T00:00:00.500Z'),
    isRevoked: true,
  })
  expect(whyOf({ expires: 'soon' })).toBe('its end is not a time')
  expect(whyOf({ token: 'sk-plain' })).toBe('its token is not a SHA-256')
  expect(whyOf({ allowed_routes: ['management_routes'] })).toBe('it is for management, not for calls')
  expect(plan({ allowed_routes: ['llm_api_routes'] }).keys).toHaveLength(1)
  expect(whyOf({ allowed_routes: ['/chat/completions'] })).toBe('it is only for some routes')
})

test('a key that stands there twice is left: the other row may hold it to less', () => {
  const keys = [
    { token: TOKEN, key_alias: 'one' },
    { token: TOKEN, key_alias: 'two', blocked: true },
  ]
  const found = planKeys({ keys, teams: [], users: [], budgets: [] }, true)
  expect(found).toMatchObject({
    keys: [],
    left: [
      { name: 'one', why: 'it stands there twice' },
      { name: 'two', why: 'it stands there twice' },
    ],
  })
})

test.each([
  [{ blocked: 'true' }, 'blocked is not true or false'],
  [{ blocked: 1 }, 'blocked is not true or false'],
  [{ team_id: 5 }, 'team_id is not a text'],
  [{ team_id: 't', user_id: {} }, 'user_id is not a text'],
  [{ budget_id: [] }, 'budget_id is not a text'],
  [{ allowed_routes: '/chat' }, 'allowed_routes is not a list of texts'],
  [{ model_max_budget: '{}' }, 'model_max_budget is not an object'],
  [{ metadata: [] }, 'metadata is not an object'],
  [{ budget_limits: {} }, 'budget_limits is not a list'],
])('a key with %j is left: the bound that stands there is not known', (row, why) => {
  const teams = [{ team_id: 't' }]
  expect(whyOf(row, { teams })).toBe(`its ${why}`)
  expect(plan(row, { teams }, true).keys).toEqual([])
})

test('what cannot be read of a team or a budget leaves all of its keys', () => {
  expect(whyOf({ team_id: 't' }, { teams: [{ team_id: 't', blocked: 'yes' }] })).toBe(
    "its team's blocked is not true or false",
  )
  const budgets = [{ budget_id: 'b', model_max_budget: 7 }]
  expect(whyOf({ budget_id: 'b' }, { budgets })).toBe('its model_max_budget is not an object')
})
