import { expect, test } from 'vitest'
import type { LimitEngine } from '../../../src/limits/engine/limit-engine.ts'
import { parseField } from '../../../src/limits/sharing/gateway-field.ts'
import { admit, callOf, Fleet, held, limitOf, settled, USD } from './fakes.ts'

const CENT = USD / 100n

async function admittedOf(gateway: LimitEngine, calls: number, estimatedPico: bigint): Promise<number> {
  let admitted = 0
  for (let left = calls; left > 0; left -= 1) {
    const client = { destroyed: false }
    const answer = await admit(gateway, callOf({ estimatedPico, client }))
    client.destroyed = true
    if (answer !== undefined && answer !== null && !('error' in answer)) admitted += 1
  }
  return admitted
}

test('of a budget that is lowered while Redis is asked for more, no more is spent than is left', async () => {
  const fleet = new Fleet([limitOf('b', { amount: 1_000n * USD })])
  held(await admit(fleet.first, callOf({ estimatedPico: CENT }))).release()
  await fleet.pass(500)
  const exchange = fleet.redis.exchange.bind(fleet.redis)
  const { promise: isAnswering, resolve: answer } = Promise.withResolvers<void>()
  fleet.redis.exchange = async (request) => {
    await isAnswering
    return await exchange(request)
  }
  held(await admit(fleet.first, callOf({ estimatedPico: CENT })))
  await fleet.pass(1_000)
  fleet.limits = [limitOf('b', { amount: USD })]
  await fleet.pass(100)
  answer()
  await settled()
  expect(await admittedOf(fleet.first, 20, USD)).toBe(0)
})

test('what a gateway has recorded of a budget is reported, also where less is left of that than it held', async () => {
  const fleet = new Fleet([limitOf('b', { amount: 100n * USD })], 2)
  const call = held(await admit(fleet.first, callOf()))
  call.settle([{ model: 'm', costPico: 9n * USD, tokens: 1, cachedTokens: 0 }], 1)
  call.release()
  held(await admit(fleet.first, callOf()))
  await fleet.pass(3_000)
  fleet.redis.flush()
  await fleet.pass(1_200)
  fleet.limits = [limitOf('b', { amount: 10n * USD })]
  await fleet.pass(300)
  const field = parseField(fleet.redis.hashes.get('c')?.get('g:gp1') ?? '')
  expect(field?.accounts.get('b@2026-11-22')).toMatchObject({ recorded: 9n * USD })
})

test('a rate that is lowered while Redis is away holds at once', async () => {
  const fleet = new Fleet([limitOf('r', { kind: 'requests', amount: 100n })], 4)
  for (const gateway of fleet.gateways) held(await admit(gateway, callOf())).release()
  fleet.redis.isAway = true
  await fleet.pass(3_000)
  fleet.limits = [limitOf('r', { kind: 'requests', amount: 2n })]
  await fleet.pass(100)
  for (const gateway of fleet.gateways) expect(await admittedOf(gateway, 20, CENT)).toBe(2)
})

test('a rate that is raised while Redis is away holds at once, also after it was lowered', async () => {
  const fleet = new Fleet([limitOf('r', { kind: 'requests', amount: 10n })])
  held(await admit(fleet.first, callOf())).release()
  fleet.redis.isAway = true
  await fleet.pass(3_000)
  for (const amount of [2n, 20n]) {
    fleet.limits = [limitOf('r', { kind: 'requests', amount })]
    await fleet.pass(100)
  }
  expect(await admittedOf(fleet.first, 30, CENT)).toBe(20)
})
