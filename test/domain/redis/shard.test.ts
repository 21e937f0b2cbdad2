import { expect, test } from 'vitest'
import { shardOf } from '../../../src/ledger/own-producers.ts'

test('a client stays in its shard: gateways of every release must agree', () => {
  const clients = ['', 'cli_a', 'cli_0', 'cli_9f2', '(gateway)', 'Grüße']
  expect(clients.map((client) => shardOf(client, 4))).toEqual([3, 2, 2, 0, 3, 2])
  expect(clients.map((client) => shardOf(client, 1))).toEqual([0, 0, 0, 0, 0, 0])
})

test.each([2, 3, 4, 16, 64])('10,000 clients spread over %i shards about evenly', (shards) => {
  const sizes = new Array<number>(shards).fill(0)
  for (let client = 0; client < 10_000; client += 1) {
    const shard = shardOf(`cli_${client.toString(36)}`, shards)
    sizes[shard] = (sizes[shard] ?? 0) + 1
  }
  const even = 10_000 / shards
  const deviation = Math.max(...sizes.map((size) => Math.abs(size - even))) / even
  // Four standard deviations of a fair draw.
  expect(deviation).toBeLessThan(4 / Math.sqrt(even))
})
