import { expect, test } from 'vitest'
import { ANY_MODEL } from '../../../src/limits/engine/limiter.ts'
import { type Answer, admit, callOf, Fleet, held, limitOf, NOON_MS, settled, USD } from './fakes.ts'

test('a client without limits is not asked about', () => {
  const fleet = new Fleet([])
  expect(fleet.first.limits('c', 'k')).toBe(false)
  expect(fleet.first.admit(callOf())).toBeNull()
  expect(fleet.first.size).toBe(0)
})

test('a model that runs beside another one meets its own limits, and none that hold for the other', async () => {
  const fleet = new Fleet([
    limitOf('all', { kind: 'requests', amount: 1n }),
    limitOf('both', { kind: 'requests', amount: 1n, model: 'gpt-*' }),
    limitOf('beside', { kind: 'requests', amount: 1n, model: 'gpt-transcribe' }),
  ])
  const own = held(await admit(fleet.first, callOf({ model: 'gpt-realtime' })))
  const beside = callOf({ model: 'gpt-transcribe', isHeld: (limit) => own.holds(limit) })
  const first = held(await admit(fleet.first, beside))
  expect(await admit(fleet.first, beside)).toMatchObject({ reason: 'requests', limitId: 'beside' })
  first.settle([], 0)
  first.release()
  expect(await admit(fleet.first, beside)).toMatchObject({ limitId: 'beside' })
  own.release()
  const plain = new Fleet([limitOf('all', { kind: 'requests', amount: 1n })])
  held(await admit(plain.first, callOf({ model: 'gpt-realtime' })))
  expect(await admit(plain.first, beside)).toBeNull()
})

test('a budget is spent to its end and not beyond, and the refusal names the figure', async () => {
  const fleet = new Fleet([limitOf('b')])
  let sequence = 0
  for (let calls = 0; calls < 100; calls += 1) {
    const reservation = held(await admit(fleet.first, callOf()))
    sequence += 1
    reservation.settle([{ model: 'gpt-4o', costPico: USD / 100n, tokens: 10, cachedTokens: 0 }], sequence)
    reservation.release()
  }
  const refused = await admit(fleet.first, callOf())
  expect(refused).toMatchObject({
    error: 'budget_exceeded',
    reason: 'budget',
    detail: {
      message:
        'The budget of 1 USD a day is spent: 1 USD since 2026-11-22. It begins again at 2026-11-23T00:00:00Z.',
      headers: { 'x-should-retry': 'false' },
    },
  })
})

test('a budget that is spent comes before a rate that is reached: to try again would be in vain', async () => {
  const fleet = new Fleet([limitOf('b'), limitOf('r', { kind: 'requests', amount: 2n })])
  for (const sequence of [1, 2]) {
    const reservation = held(await admit(fleet.first, callOf({ estimatedPico: 1n })))
    reservation.settle([{ model: 'gpt-4o', costPico: USD / 2n, tokens: 10, cachedTokens: 0 }], sequence)
    reservation.release()
  }
  expect(await admit(fleet.first, callOf())).toMatchObject({ error: 'budget_exceeded', reason: 'budget' })
})

test('with room in its share a gateway admits at once, without asking', async () => {
  const fleet = new Fleet([limitOf('b'), limitOf('r', { kind: 'requests', amount: 100n })])
  held(await admit(fleet.first, callOf({ estimatedPico: 1n }))).release()
  const { exchanges } = fleet.redis
  const answer = fleet.first.admit(callOf({ estimatedPico: 1n }))
  expect(answer).not.toBeInstanceOf(Promise)
  expect(fleet.redis.exchanges).toBe(exchanges)
})

test('requests a minute: the one too many hears when to come back', async () => {
  const fleet = new Fleet([limitOf('r', { kind: 'requests', amount: 3n })])
  for (let calls = 0; calls < 3; calls += 1) {
    const reservation = held(await admit(fleet.first, callOf()))
    reservation.settle([], calls + 1)
    reservation.release()
    await fleet.pass(1_000)
  }
  expect(await admit(fleet.first, callOf())).toMatchObject({
    error: 'rate_limit_exceeded',
    reason: 'requests',
    detail: { headers: { 'retry-after': '58' } },
  })
  expect(fleet.first.rates(callOf())).toEqual({
    requests: { limit: 3, remaining: 0, resetMs: 59_250 },
    tokens: null,
  })
  await fleet.pass(58_000)
  held(await admit(fleet.first, callOf()))
})

test('calls that run hold the rest of a budget: the next one waits for them, then runs', async () => {
  const fleet = new Fleet([limitOf('b')])
  const big = callOf({ estimatedPico: (USD * 8n) / 10n })
  const first = held(await admit(fleet.first, big))
  let second: Answer
  void Promise.resolve(fleet.first.admit(big)).then((value) => {
    second = value
  })
  await fleet.pass(1_000)
  expect(second).toBeUndefined()
  expect(fleet.first.stats().waiting).toBe(1)
  first.settle([{ model: 'm', costPico: USD / 10n, tokens: 1, cachedTokens: 0 }], 1)
  first.release()
  await settled()
  held(second).release()
})

test('a call that may cost more than is left runs alone', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const answer = await admit(fleet.first, callOf({ estimatedPico: 5n * USD }))
  held(answer)
  expect(await admit(fleet.first, callOf({ arrivedAtMs: NOON_MS }))).toBeUndefined()
})

test.each([
  'gpt-4o-2024-08-06',
  'GPT-4o',
  'models/gpt-4o',
  ANY_MODEL,
])('a limit for gpt-4o holds for a call of %s, and its cost counts at once', async (model) => {
  const fleet = new Fleet([limitOf('b', { model: 'gpt-4o', amount: USD / 100n })])
  const reservation = held(await admit(fleet.first, callOf({ model })))
  const charged = model === ANY_MODEL ? 'gpt-4o' : model
  reservation.settle([{ model: charged, costPico: USD / 100n, tokens: 10, cachedTokens: 0 }], 1)
  reservation.release()
  expect(await admit(fleet.first, callOf({ model }))).toMatchObject({ error: 'budget_exceeded' })
  held(await admit(fleet.first, callOf({ model: 'o3' }))).release()
})

test('a name by which a limited model answers has the limits of that model from then on', async () => {
  const fleet = new Fleet([limitOf('b', { model: 'gpt-5*', amount: USD / 100n })])
  fleet.postgres.offsets.set('p1', 0)
  const auto = callOf({ model: 'auto', estimatedPico: 1n })
  const reservation = held(await admit(fleet.first, auto))
  reservation.settle([{ model: 'gpt-5-2025', costPico: USD / 100n, tokens: 10, cachedTokens: 0 }], 1)
  reservation.release()
  expect(await admit(fleet.first, auto)).toMatchObject({ error: 'budget_exceeded' })
  await fleet.pass(10_000)
  fleet.postgres.commit('p1', 1, {
    ...{ clientId: 'c', keyId: 'k', model: 'gpt-5-2025', day: '2026-11-22', pico: USD / 100n },
  })
  await fleet.pass(120_000)
  expect(fleet.first.size).toBe(0)
  expect(await admit(fleet.first, auto)).toMatchObject({ error: 'budget_exceeded' })
  // What no answer named is charged to no limit on another model, as Postgres would not add it up either.
  const other = held(await admit(fleet.first, callOf({ model: 'llama' })))
  other.settle([{ model: 'auto', costPico: USD, tokens: 10, cachedTokens: 0 }], 2)
  other.release()
  expect(await admit(fleet.first, callOf({ model: 'gpt-5' }))).toMatchObject({
    detail: { message: expect.stringContaining('is spent: 0.01 USD') },
  })
})

test('what a call ran that named another model is known, however long it took', async () => {
  const fleet = new Fleet([limitOf('b', { model: 'dear' })])
  const auto = callOf({ model: 'auto', estimatedPico: 1n })
  const long = held(await admit(fleet.first, auto))
  await fleet.pass(120_000)
  long.settle([{ model: 'dear', costPico: USD, tokens: 10, cachedTokens: 0 }], 1)
  long.release()
  expect(await admit(fleet.first, auto)).toMatchObject({ error: 'budget_exceeded' })
  expect(await admit(fleet.first, callOf({ model: 'dear' }))).toMatchObject({ error: 'budget_exceeded' })
})

test('no call passes before Postgres has said that something is left', async () => {
  const fleet = new Fleet([limitOf('b')])
  fleet.postgres.rows.push({ clientId: 'c', keyId: 'k', model: 'gpt-4o', day: '2026-11-22', pico: USD })
  const answers = await Promise.all([admit(fleet.first, callOf()), admit(fleet.first, callOf())])
  expect(answers).toMatchObject([{ error: 'budget_exceeded' }, { error: 'budget_exceeded' }])
})

test('sessions at four gateways spend one budget together, each a little at a time', async () => {
  const fleet = new Fleet([limitOf('b')], 4)
  const sessions = []
  for (const gateway of fleet.gateways) {
    sessions.push({ session: held(await admit(gateway, callOf({ estimatedPico: 1n }))), pico: 0n })
    await fleet.pass(100)
  }
  const step = USD / 100n
  let running = sessions
  while (running.length > 0) {
    running = running.filter((one) => {
      one.pico += step
      return one.session.progress(one.pico) === null
    })
    await fleet.pass(100)
  }
  const spent = sessions.reduce((sum, { pico }) => sum + pico, 0n)
  expect(spent).toBeGreaterThan((USD * 8n) / 10n)
  // A figure is known once it is spent: one goes beyond what its gateway holds, and the next ends the session.
  expect(spent).toBeLessThanOrEqual(USD + 8n * step)
})

test('a session at a gateway that reaches neither store spends nothing more of what others may take', async () => {
  const fleet = new Fleet([limitOf('b', { amount: 1_000n * USD })], 2)
  const session = held(await admit(fleet.first, callOf({ estimatedPico: 1n })))
  expect(session.progress(USD)).toBeNull()
  await fleet.pass(1_000)
  fleet.cutOff.add('gp1')
  fleet.withoutPostgres.add('gp1')
  await fleet.pass(3_000)
  expect(session.progress(2n * USD)).toBeNull()
  await fleet.pass(1_000)
  expect(session.progress(3n * USD)).toMatchObject({ reason: 'reserved' })
})

test('a session keeps its share while it runs, and grows by it without Redis', async () => {
  const fleet = new Fleet([limitOf('b', { amount: 1_000n * USD })], 2)
  const session = held(await admit(fleet.first, callOf({ estimatedPico: 1n })))
  expect(session.progress(USD)).toBeNull()
  await fleet.pass(30_000)
  fleet.redis.isAway = true
  for (let pico = 2n * USD; pico < 100n * USD; pico += USD) {
    expect(session.progress(pico)).toBeNull()
    await fleet.pass(1_000)
  }
})

test('a session that is alone spends all of a budget', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const session = held(await admit(fleet.first, callOf({ estimatedPico: 1n })))
  const step = USD / 50n
  let pico = 0n
  do {
    pico += step
    await fleet.pass(100)
  } while (session.progress(pico) === null)
  expect(pico).toBe(USD)
})

test('attempts of calls that fail together may all be followed, as soon as the others know what they may cost', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const part = USD / 10n
  const calls = [1, 2, 3].map(() => admit(fleet.first, callOf({ estimatedPico: part })))
  const running = (await Promise.all(calls)).map(held)
  // Without further calls nothing is held in advance.
  await fleet.pass(5_000)
  const answers = running.map((call) => call.spend(part))
  await fleet.pass(100)
  expect(await Promise.all(answers)).toEqual([true, true, true])
  expect(
    held(await admit(fleet.gateways[1] ?? fleet.first, callOf({ estimatedPico: part }))).reservedPico,
  ).toBe(part)
})

test('of attempts that may be followed at two gateways, no more are than the budget has room for', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const part = USD / 10n
  const running = []
  for (const gateway of fleet.gateways)
    for (let call = 0; call < 2; call += 1) {
      running.push(held(await admit(gateway, callOf({ estimatedPico: 2n * part }))))
      // Nothing is held in advance then.
      await fleet.pass(5_000)
    }
  const answers = running.map((call) => call.spend(part))
  await fleet.pass(3_000)
  expect((await Promise.all(answers)).filter((isFollowed) => isFollowed)).toHaveLength(2)
})

test('an attempt is followed by none while Redis does not say what others hold', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const calls = [1, 2].map(() => admit(fleet.first, callOf({ estimatedPico: 1n })))
  const running = (await Promise.all(calls)).map(held)
  await fleet.pass(5_000)
  fleet.redis.isHalfAway = true
  const answers = running.map((call) => call.spend(USD / 10n))
  await fleet.pass(3_000)
  expect(await Promise.all(answers)).toEqual([false, false])
})

test('an attempt at a gateway that reaches neither store is followed by none: others may take its share', async () => {
  const fleet = new Fleet([limitOf('b')], 2)
  const call = held(await admit(fleet.first, callOf({ estimatedPico: 1n })))
  await fleet.pass(500)
  fleet.cutOff.add('gp1')
  fleet.withoutPostgres.add('gp1')
  await fleet.pass(1_000)
  expect(call.spend(1n)).toBe(true)
  await fleet.pass(4_000)
  expect(call.spend(1n)).toBe(false)
})
