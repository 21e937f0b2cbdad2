import { expect, test } from 'vitest'
import {
  databaseName,
  fitsCluster,
  keyChannel,
  leaseName,
  offsetsName,
  queuePrefix,
  streamName,
} from '../../../src/domain/redis/redis-names.ts'

/** What decides the node of a key: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
function hashTag(key: string): string {
  const from = key.indexOf('{')
  const to = key.indexOf('}', from + 1)
  return from === -1 || to === -1 || to === from + 1 ? key : key.slice(from + 1, to)
}

test('the names of one shard are on one node of a cluster, and so are those of the job queue', () => {
  for (const prefix of ['tallygate:', '{tg}:', 'a{b}c', '']) {
    for (const shard of [0, 1, 12]) {
      const stream = streamName(prefix, shard)
      expect(hashTag(offsetsName(prefix, stream))).toBe(hashTag(stream))
      expect(hashTag(leaseName(prefix, stream))).toBe(hashTag(stream))
    }
    expect(hashTag(`${queuePrefix(prefix)}:jobs:wait`)).toBe(hashTag(`${queuePrefix(prefix)}:jobs:meta`))
  }
})

test('shards of a prefix without braces are on nodes of their own', () => {
  const tags = [0, 1, 2].map((shard) => hashTag(streamName('tallygate:', shard)))
  expect(new Set(tags).size).toBe(3)
})

test('every name begins with the prefix and is written as the documents say', () => {
  const stream = streamName('tallygate:', 1)
  expect([
    streamName('tallygate:', 0),
    stream,
    offsetsName('tallygate:', stream),
    leaseName('tallygate:', stream),
    queuePrefix('tallygate:'),
    keyChannel('tallygate:'),
    databaseName('tallygate:'),
  ]).toEqual([
    'tallygate:calls',
    'tallygate:calls:1',
    'tallygate:marks:{tallygate:calls:1}',
    'tallygate:lease:{tallygate:calls:1}',
    'tallygate:{bull}',
    'tallygate:keys',
    'tallygate:database',
  ])
})

test('a prefix whose braces would part what belongs together does not fit a cluster', () => {
  expect(['tallygate:', '', '{tg}:', 'a{b}c'].every(fitsCluster)).toBe(true)
  expect(['{}:', 'a{b', 'a}b', '{a}{b}', '{{a}}'].some(fitsCluster)).toBe(false)
})
