import { expect, test } from 'vitest'
import { type GroupsOf, LimitTable } from '../../../src/limits/directory/limit-table.ts'
import type { Limit } from '../../../src/limits/limit.ts'
import { sharedName, subjectOf } from '../../../src/limits/subject.ts'
import { type Answer, admit, callOf, Fleet, held, limitOf, settled, USD } from './fakes.ts'

const CENT = USD / 100n

/** Every client is in a team, which is in a division. */
const CHAIN = () => ['team', 'division']

/** Gateways with limits of clients, groups and values. */
function fleetOf(limits: readonly Limit[], gateways = 1, groupsOf: GroupsOf = CHAIN): Fleet {
  const table = new LimitTable(groupsOf)
  const fleet = new Fleet([], gateways)
  change(fleet, table, limits)
  return fleet
}

function change(fleet: Fleet, table: LimitTable, limits: readonly Limit[]): void {
  table.beginReading()
  table.update(limits.map((limit) => ({ id: limit.id, limit })))
  table.endReading()
  fleet.limits = table.of('c')
  fleet.others = table.others
}

const userCall = (user: string, estimatedPico = CENT) => callOf({ axes: `user=${user}`, estimatedPico })

async function spend(fleet: Fleet, user: string, pico: bigint, sequence: number): Promise<void> {
  const reservation = held(await admit(fleet.first, userCall(user)))
  reservation.settle([{ model: 'gpt-4o', costPico: pico, tokens: 10, cachedTokens: 0 }], sequence)
  reservation.release()
}

test('each value has a budget of its own, and one that is named apart another', async () => {
  const fleet = fleetOf([
    limitOf('each', { axis: 'user' }),
    limitOf('alice', { axis: 'user', value: 'alice', amount: 3n * USD }),
  ])
  await spend(fleet, 'ann', USD, 1)
  await spend(fleet, 'alice', USD, 2)
  expect(await admit(fleet.first, userCall('ann'))).toMatchObject({
    error: 'budget_exceeded',
    limitId: 'each',
    detail: {
      message: expect.stringMatching(/^The budget of 1 USD a day of this call's user is spent: 1 USD/),
    },
  })
  held(await admit(fleet.first, userCall('bob'))).release()
  held(await admit(fleet.first, userCall('alice'))).release()
})

test('a session and a run have budgets, though their axes have no totals', async () => {
  const fleet = fleetOf([limitOf('s', { axis: 'session', per: 'total', since: '2026-11-22' })])
  const call = callOf({ axes: '-session=4711\nuser=ann' })
  const reservation = held(await admit(fleet.first, call))
  reservation.settle([{ model: 'gpt-4o', costPico: USD, tokens: 10, cachedTokens: 0 }], 1)
  reservation.release()
  expect(await admit(fleet.first, call)).toMatchObject({ error: 'budget_exceeded', limitId: 's' })
  held(await admit(fleet.first, callOf({ axes: '-session=4712' }))).release()
})

test('calls without a value are held by no limit for each value, and by one for (none)', async () => {
  const each = fleetOf([limitOf('each', { axis: 'user', amount: 1n })])
  expect(each.first.limits('c', 'k', undefined)).toBe(false)
  expect(await admit(each.first, callOf())).toBeNull()
  const none = fleetOf([
    limitOf('each', { axis: 'user' }),
    limitOf('none', { axis: 'user', value: '(none)', kind: 'requests', amount: 1n }),
  ])
  held(await admit(none.first, callOf())).release()
  const running = held(await admit(none.first, callOf({ axes: 'feature=import' })))
  expect(await admit(none.first, callOf())).toMatchObject({ reason: 'requests', limitId: 'none' })
  running.release()
  held(await admit(none.first, userCall('ann'))).release()
})

test('a name by which a limited model answers one user has the limits of all users, also after a pause', async () => {
  const fleet = fleetOf([limitOf('each', { axis: 'user', model: 'dear' })])
  const call = (user: string, model: string) => callOf({ axes: `user=${user}`, model, estimatedPico: 1n })
  const spent = { error: 'budget_exceeded', limitId: 'each' }
  for (const [at, [user, model]] of [
    ['bob', 'dear'],
    ['ann', 'auto'],
  ].entries()) {
    const reservation = held(await admit(fleet.first, call(user ?? '', model ?? '')))
    reservation.settle([{ model: 'dear', costPico: USD, tokens: 10, cachedTokens: 0 }], at + 1)
    reservation.release()
  }
  for (const user of ['ann', 'bob']) {
    expect(await admit(fleet.first, call(user, 'auto'))).toMatchObject(spent)
    const row = { clientId: 'c', keyId: 'k', model: 'dear', day: '2026-11-22', pico: USD }
    fleet.postgres.commit('p1', 2, { ...row, axes: `user=${user}` })
  }
  await fleet.pass(120_000)
  expect(fleet.first.size).toBe(0)
  for (const user of ['bob', 'ann']) expect(await admit(fleet.first, call(user, 'auto'))).toMatchObject(spent)
})

test("a client's limits for values take the place of the defaults, and those for a value of those for each", () => {
  const table = new LimitTable()
  const limits = [
    limitOf('default each', { clientId: null, axis: 'user' }),
    limitOf('default ann', { clientId: null, axis: 'user', value: 'ann' }),
    limitOf('own each', { axis: 'user' }),
    limitOf('own bob', { axis: 'user', value: 'bob' }),
    limitOf('own rate', { axis: 'user', kind: 'requests' }),
  ]
  table.update(limits.map((limit) => ({ id: limit.id, limit })))
  const idsOf = (clientId: string, value: string) =>
    table.others.limitsOf(subjectOf({ clientId, groupId: null, axis: 'user', value })).map(({ id }) => id)
  expect(idsOf('c', 'bob')).toEqual(['own bob', 'own rate'])
  expect(idsOf('c', 'ann')).toEqual(['own each', 'own rate'])
  expect(idsOf('d', 'ann')).toEqual(['default ann'])
  expect(idsOf('d', 'eve')).toEqual(['default each'])
  expect(table.of('c')).toEqual([])
})

test("a client's limits beside its own are those of its groups, and of values, without what others replace", () => {
  const table = new LimitTable((clientId) => (clientId === 'c' ? ['team', 'division'] : []))
  const limits = [
    limitOf('client'),
    limitOf('team', { clientId: null, groupId: 'team' }),
    limitOf('other team', { clientId: null, groupId: 'other' }),
    limitOf('division each', { clientId: null, groupId: 'division', axis: 'user' }),
    limitOf('default each', { clientId: null, axis: 'user' }),
    limitOf('own each', { axis: 'user' }),
    limitOf('own bob', { axis: 'user', value: 'bob' }),
  ]
  table.update(limits.map((limit) => ({ id: limit.id, limit })))
  const idsOf = (clientId: string) => table.besides(clientId).map(({ id }) => id)
  expect(idsOf('c')).toEqual(['team', 'own each', 'own bob', 'division each'])
  expect(idsOf('d')).toEqual(['default each'])
})

/** Four levels at one call. */
const LEVELS = [
  limitOf('key', { keyId: 'k', amount: 5n * USD }),
  limitOf('client', { amount: 4n * USD }),
  limitOf('user', { axis: 'user', amount: 2n * USD }),
  limitOf('team', { clientId: null, groupId: 'team', amount: 3n * USD }),
]

test.each(LEVELS)('all of four levels have to grant, and $id is named where it is spent', async ({ id }) => {
  const fleet = fleetOf(LEVELS.map((limit) => (limit.id === id ? { ...limit, amount: USD } : limit)))
  await spend(fleet, 'ann', USD, 1)
  expect(await admit(fleet.first, userCall('ann'))).toMatchObject({ error: 'budget_exceeded', limitId: id })
})

test.each([null, 'user'])('a limit of a group holds in the groups within it, axis %s', async (axis) => {
  const fleet = fleetOf([limitOf('division', { clientId: null, groupId: 'division', axis })])
  await spend(fleet, 'ann', USD, 1)
  expect(await admit(fleet.first, userCall('ann'))).toMatchObject({
    error: 'budget_exceeded',
    limitId: 'division',
  })
})

test('of several that are spent the one of which least is left is named', async () => {
  const fleet = fleetOf(LEVELS.map((limit) => ({ ...limit, amount: limit.id === 'team' ? CENT : USD })))
  await spend(fleet, 'ann', 2n * USD, 1)
  expect(await admit(fleet.first, userCall('ann'))).toMatchObject({ limitId: 'team' })
})

test('nothing of a refused call stays reserved at any level', async () => {
  const fleet = fleetOf([...LEVELS, limitOf('rate', { axis: 'user', kind: 'requests', amount: 2n })])
  for (let sequence = 1; sequence <= 2; sequence += 1) await spend(fleet, 'ann', CENT, sequence)
  for (let calls = 0; calls < 20; calls += 1)
    expect(await admit(fleet.first, userCall('ann', USD))).toMatchObject({ reason: 'requests' })
  await fleet.pass(3_000)
  for (const hash of fleet.redis.hashes.values()) expect([...hash.values()].join()).not.toMatch(/"r":"[1-9]/)
  // All of what is left of the user's budget is there for another kind of call.
  held(await admit(fleet.first, callOf({ estimatedPico: 3n * USD }))).release()
})

test('200 calls at once over four gateways pass no level by more than one call, and no other user is refused', async () => {
  const fleet = fleetOf(
    [
      limitOf('key', { keyId: 'k', amount: 50n * CENT }),
      limitOf('client', { amount: 60n * CENT }),
      limitOf('user', { axis: 'user', amount: 20n * CENT }),
      limitOf('team', { clientId: null, groupId: 'team', amount: 70n * CENT }),
      limitOf('division', { clientId: null, groupId: 'division', axis: 'user', amount: 25n * CENT }),
    ],
    4,
  )
  const spent = new Map<string, bigint>()
  const sequences = fleet.gateways.map(() => 0)
  let refused = 0
  for (let number = 0; number < 200; number += 1) {
    const at = number % 4
    const user = `u${number % 2}`
    void Promise.resolve(fleet.gateways[at]?.admit(userCall(user))).then((answer: Answer) => {
      if (answer === undefined || answer === null || 'error' in answer) {
        refused += 1
        return
      }
      sequences[at] = (sequences[at] ?? 0) + 1
      spent.set(user, (spent.get(user) ?? 0n) + CENT)
      answer.settle([{ model: 'gpt-4o', costPico: CENT, tokens: 1, cachedTokens: 0 }], sequences[at] ?? 0)
      answer.release()
    })
  }
  await fleet.pass(7_000)
  expect([...spent.values()]).toEqual([20n * CENT, 20n * CENT])
  expect(refused).toBe(160)
  // The key and the client have 10 cents left, which is for any user.
  held(await admit(fleet.first, userCall('u2'))).release()
})

test('two calls that need two subjects at two gateways do not hold what the other waits for', async () => {
  const fleet = fleetOf(
    [
      limitOf('user', { axis: 'user', amount: CENT }),
      limitOf('team', { clientId: null, groupId: 'team', amount: CENT }),
    ],
    2,
  )
  const answers: Answer[] = []
  for (const gateway of fleet.gateways)
    void Promise.resolve(gateway.admit(userCall('ann', CENT))).then((answer) => {
      answers.push(answer)
      if (answer !== null && !('error' in answer)) answer.release()
    })
  await fleet.pass(4_000)
  expect(answers.map((answer) => answer !== null && answer !== undefined && 'error' in answer)).toEqual([
    false,
    false,
  ])
})

test('a user who waits for its own limit holds up no other user, and no other client of its group', async () => {
  const fleet = fleetOf([
    limitOf('user', { axis: 'user', amount: 2n * CENT }),
    limitOf('client'),
    limitOf('team', { clientId: null, groupId: 'team' }),
    limitOf('division', { clientId: null, groupId: 'division', axis: 'user' }),
  ])
  for (const user of ['ann', 'bob']) held(await admit(fleet.first, userCall(user))).release()
  await fleet.pass(500)
  const running = held(await admit(fleet.first, userCall('ann', 2n * CENT)))
  expect(await admit(fleet.first, userCall('ann'))).toBeUndefined()
  held(await admit(fleet.first, userCall('bob'))).release()
  held(await admit(fleet.first, { ...userCall('eve'), clientId: 'd' })).release()
  running.release()
})

test('calls of a user that wait leave room for those of others to wait, too', async () => {
  const fleet = fleetOf([limitOf('user', { axis: 'user', amount: CENT }), limitOf('client')])
  for (const user of ['ann', 'bob']) held(await admit(fleet.first, userCall(user)))
  const answers: Answer[] = []
  for (let number = 0; number < 600; number += 1)
    void Promise.resolve(fleet.first.admit(userCall('ann'))).then((answer) => answers.push(answer))
  await settled()
  expect(answers.length).toBe(600 - 256)
  expect(answers[0]).toMatchObject({ error: 'rate_limit_exceeded', limitId: 'user' })
  expect(await admit(fleet.first, userCall('bob'))).toBeUndefined()
})

test('a client that makes values up is refused when half of what a process keeps is gone, and no other', async () => {
  const fleet = fleetOf([limitOf('each', { clientId: null, axis: 'user' })])
  fleet.mostValues = 10
  const isRefused = async (clientId: string, user: string) => {
    const answer = await admit(fleet.first, { ...userCall(user), clientId })
    if (answer !== undefined && answer !== null && 'error' in answer) return answer.reason === 'reserved'
    held(answer).release()
    return false
  }
  for (let number = 1; number <= 8; number += 1)
    expect(await isRefused('c', `made up ${number}`)).toBe(number > 5)
  expect(await isRefused('c', 'made up 1')).toBe(false)
  for (let number = 1; number <= 3; number += 1) expect(await isRefused('d', `user ${number}`)).toBe(false)
  expect(await isRefused('e', 'ann')).toBe(false)
  await fleet.pass(70_000)
  expect(fleet.first.size).toBe(0)
  expect(await isRefused('c', 'made up 8')).toBe(false)
})

test('a client that makes values up gets past no budget that refuses models without a price', () => {
  const call = userCall('made up')
  const refuses = (...limits: readonly Limit[]) => {
    const fleet = fleetOf([limitOf('each', { axis: 'user', kind: 'requests' }), ...limits])
    fleet.mostValues = 0
    return fleet.first.refusesUnpriced(call)
  }
  expect(refuses()).toBe(false)
  expect(refuses(limitOf('client', { allowsUnpriced: true }))).toBe(false)
  expect(refuses(limitOf('client'))).toBe(true)
  expect(refuses(limitOf('user', { axis: 'user' }))).toBe(true)
  expect(refuses(limitOf('team', { clientId: null, groupId: 'team' }))).toBe(true)
  expect(refuses(limitOf('other', { model: 'claude*' }))).toBe(false)
})

test('a call ends in the group in which it began, and the next one of its client is of the new group', async () => {
  let groups = ['old']
  const ofGroup = (groupId: string) => limitOf(groupId, { clientId: null, groupId, amount: 2n * CENT })
  const fleet = fleetOf([ofGroup('old'), ofGroup('new')], 1, () => groups)
  const running = held(await admit(fleet.first, callOf()))
  groups = ['new']
  const next = held(await admit(fleet.first, callOf({ estimatedPico: 2n * CENT })))
  running.settle([{ model: 'gpt-4o', costPico: 2n * CENT, tokens: 1, cachedTokens: 0 }], 1)
  running.release()
  next.release()
  groups = ['old']
  expect(await admit(fleet.first, callOf())).toMatchObject({ error: 'budget_exceeded', limitId: 'old' })
  // Postgres counts by the days: the client has left, and takes with it what it cost today.
  fleet.postgres.commit('p1', 1, {
    ...{ clientId: 'c', keyId: 'k', model: 'gpt-4o', day: '2026-11-22', pico: 2n * CENT },
    groups: ['new'],
  })
  await fleet.pass(80_000)
  held(await admit(fleet.first, callOf())).release()
  groups = ['new']
  for (let calls = 0; calls < 4; calls += 1) {
    held(await admit(fleet.first, callOf())).release()
    await fleet.pass(10_000)
  }
  expect(await admit(fleet.first, callOf())).toMatchObject({ error: 'budget_exceeded', limitId: 'new' })
})

test('limits that change while calls run and wait leave nothing reserved, and calls go by those of now', async () => {
  const table = new LimitTable(CHAIN)
  const fleet = new Fleet([])
  const user = limitOf('user', { axis: 'user', amount: 2n * CENT })
  const team = limitOf('team', { clientId: null, groupId: 'team', amount: 2n * CENT })
  change(fleet, table, [user, team])
  const running = held(await admit(fleet.first, userCall('ann', 2n * CENT)))
  let waiting: Answer
  void Promise.resolve(fleet.first.admit(userCall('ann'))).then((answer) => {
    waiting = answer
  })
  await fleet.pass(300)
  expect(waiting).toBeUndefined()
  change(fleet, table, [{ ...user, amount: USD }])
  await fleet.pass(300)
  held(waiting).release()
  running.release()
  change(fleet, table, [user, team])
  held(await admit(fleet.first, userCall('ann', 2n * CENT))).release()
  await fleet.pass(3_000)
  for (const hash of fleet.redis.hashes.values()) expect([...hash.values()].join()).not.toMatch(/"r":"[1-9]/)
})

test('what a killed gateway held at each level is free once it is known to have ended', async () => {
  const fleet = fleetOf(
    LEVELS.map((limit) => ({ ...limit, amount: 2n * CENT })),
    2,
  )
  const [first, second] = fleet.gateways
  if (first === undefined || second === undefined) throw new Error('there are two')
  held(await admit(first, userCall('ann', 2n * CENT)))
  await fleet.pass(1_000)
  fleet.kill(first)
  let next: Answer
  void Promise.resolve(second.admit(userCall('ann', 2n * CENT))).then((answer) => {
    next = answer
  })
  await fleet.pass(6_000)
  held(next).release()
})

test('what Redis has of a value names it nowhere, and is dropped within the quarter of an hour', async () => {
  const fleet = fleetOf([limitOf('each', { axis: 'user' })])
  held(await admit(fleet.first, userCall('ann@example.com'))).release()
  await fleet.pass(2_000)
  const [name = ''] = fleet.redis.hashes.keys()
  expect(name).toBe(
    sharedName(subjectOf({ clientId: 'c', groupId: null, axis: 'user', value: 'ann@example.com' })),
  )
  expect(name).toMatch(/^c:[\w-]{22}$/)
  expect([...(fleet.redis.hashes.get(name)?.values() ?? [])].join()).not.toContain('ann')
  expect(fleet.redis.keepMs.get(name)).toBeLessThanOrEqual(900_000)
})

test('what Redis has of a value is dropped in minutes once no gateway needs it', async () => {
  const fleet = fleetOf([limitOf('each', { axis: 'user' })])
  await spend(fleet, 'ann', CENT, 1)
  await fleet.pass(5_000)
  const kept = () => [...fleet.redis.keepMs.values()]
  expect(kept()).toEqual([900_000])
  const row = { clientId: 'c', axes: 'user=ann', keyId: 'k', model: 'gpt-4o', day: '2026-11-22', pico: CENT }
  fleet.postgres.commit('p1', 1, row)
  await fleet.pass(80_000)
  expect(kept()).toEqual([120_000])
})

test('records of a value that are not counted yet are reported again before Redis drops what it has', async () => {
  const fleet = fleetOf([limitOf('each', { axis: 'user' })])
  await spend(fleet, 'ann', CENT, 1)
  await fleet.pass(10_000)
  fleet.redis.hashes.clear()
  await fleet.pass(320_000)
  expect(fleet.redis.hashes.size).toBe(1)
})

test('values take memory while they are at work, and no longer', async () => {
  const fleet = fleetOf([limitOf('each', { axis: 'session' })])
  for (let number = 0; number < 300; number += 1)
    void Promise.resolve(fleet.first.admit(callOf({ axes: `-session=s${number}` }))).then((answer) =>
      held(answer).release(),
    )
  await settled()
  expect(fleet.first.size).toBe(300)
  await fleet.pass(70_000)
  expect(fleet.first.size).toBe(0)
})

test('calls that wait for limits of their own are each checked a few times, however many they are', async () => {
  const fleet = fleetOf([
    limitOf('each', { axis: 'user', amount: CENT }),
    limitOf('team', { clientId: null, groupId: 'team', amount: USD + 1n }),
  ])
  for (let user = 0; user < 100; user += 1) held(await admit(fleet.first, userCall(`${user}`)))
  let checks = 0
  const counted = (user: string) =>
    Object.defineProperty(userCall(user), 'estimatedPico', {
      get() {
        checks += 1
        return CENT
      },
    })
  for (let calls = 0; calls < 400; calls += 1) void fleet.first.admit(counted(`${calls % 100}`))
  await settled()
  expect(fleet.first.stats().waiting).toBe(400)
  checks = 0
  fleet.clock.pass(100)
  fleet.first.tick()
  expect(checks).toBeGreaterThan(400)
  expect(checks).toBeLessThan(400 * 100)
})
