import { expect, test } from 'vitest'
import { KeyNetworks, type NetworkCount, networkOf } from '../../src/keys/networks/key-networks.ts'
import { forwardedFor } from '../../src/keys/networks/open-key-networks.ts'
import { SILENT_LOG } from '../../src/lib/logger.ts'

const DAY = Date.parse('2030-01-31T23:59:00Z')

function counted() {
  const world = { isAway: false, nowMs: DAY, added: [] as NetworkCount[] }
  const networks = new KeyNetworks({
    add: async (counts) => {
      if (world.isAway) throw new Error('the store is away')
      world.added.push(...counts.map((count) => ({ ...count })))
    },
    log: SILENT_LOG,
    now: () => world.nowMs,
    intervalMs: 1_000_000,
  })
  return { world, networks }
}

test.each([
  ['192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.0/24'],
  ['2001:DB8:1:2::7', '2001:db8:1::/48'],
  ['2001:0db8:0001:0002:0003:0004:0005:0006', '2001:db8:1::/48'],
  ['2001:db8::7', '2001:db8::/48'],
  ['fe80::1%eth0', 'fe80::/48'],
  ['::1', '::/48'],
  ['', null],
  ['not an address', null],
  [undefined, null],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('a call is counted by key, network and day', async () => {
  const { world, networks } = counted()
  for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.200', '198.51.100.1'])
    networks.count('a', address)
  networks.count('b', '192.0.2.1')
  world.nowMs += 120_000
  networks.count('a', '198.51.100.1')
  networks.count('a', undefined)
  await networks.stop()
  const of = (day: string, keyId: string, network: string, calls: number) => ({ day, keyId, network, calls })
  expect(world.added).toEqual([
    of('2030-01-31', 'a', '192.0.2.0/24', 3),
    of('2030-01-31', 'a', '198.51.100.0/24', 1),
    of('2030-02-01', 'a', '198.51.100.0/24', 1),
    of('2030-01-31', 'b', '192.0.2.0/24', 1),
  ])
})

test('beyond 16 networks of a key and day the others are one, and counts wait for a store that is away', async () => {
  const { world, networks } = counted()
  world.isAway = true
  for (let n = 0; n < 200; n += 1) networks.count('a', `10.0.${n}.1`)
  await networks.stop()
  world.isAway = false
  await networks.stop()
  expect(world.added).toHaveLength(17)
  expect(world.added.find(({ network }) => network === '(other)')?.calls).toBe(184)
  expect(world.added.reduce((sum, { calls }) => sum + calls, 0)).toBe(200)
})

test('of x-forwarded-for only what the nearest proxy wrote counts', () => {
  expect(forwardedFor({ headers: { 'x-forwarded-for': '6.6.6.6, 192.0.2.9' } })).toBe('192.0.2.9')
  expect(forwardedFor({ headers: {} })).toBeUndefined()
})
