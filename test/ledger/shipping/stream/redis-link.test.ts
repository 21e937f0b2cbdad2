import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { databaseName } from '../../../../src/domain/redis/redis-names.ts'
import { encodeEntry, serialiseRecord } from '../../../../src/ledger/entry.ts'
import { RedisLink } from '../../../../src/ledger/shipping/stream/redis-link.ts'
import { busyness } from '../../../support/patience.ts'
import { testRedisPrefix } from '../../../support/servers/redis.ts'
import { callRecord } from '../../support/calls.ts'
import { logLines } from '../../support/log-lines.ts'

const PRODUCER = 'a'.repeat(32)
const OTHER = 'b'.repeat(32)
const BODY = serialiseRecord(callRecord(1))
const crowdedFrom = () => 50_000

test('an entry is there when its id holds what was sent: the same producer and number, not the id alone', async () => {
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const stream = `${prefix}calls`
  const redis = new Redis(redisUrl)
  const link = new RedisLink({
    redisUrl,
    redisPrefix: prefix,
    log: logLines(),
    onConnected: () => {},
    crowdedFrom,
  })
  onTestFinished(async () => {
    link.close()
    redis.disconnect()
    await drop()
  })
  await vi.waitFor(() => expect(link.connected).toBe(true))
  const rows = [7, 8, 9].map((sequence) => ({ sequence, body: BODY }))
  const ids = await link.append(stream, PRODUCER, rows)
  const sent = ids.map((id, index) => ({ sequence: index + 7, id }))
  expect(await link.areThere(stream, PRODUCER, sent)).toEqual([true, true, true])

  await redis.del(stream)
  expect(await link.areThere(stream, PRODUCER, sent)).toEqual([false, false, false])

  const [first = '', second = '', third = ''] = ids
  await redis.xadd(stream, first, ...encodeEntry(OTHER, 7, BODY))
  await redis.xadd(stream, second, ...encodeEntry(PRODUCER, 9, BODY))
  await redis.xadd(stream, third, ...encodeEntry(PRODUCER, 9, BODY))
  expect(await link.areThere(stream, PRODUCER, sent)).toEqual([false, false, true])
  expect(await link.areThere(stream, OTHER, sent)).toEqual([true, false, false])
})

test('a Redis that is connected and refuses is said once, and again only when it has taken entries in between', async () => {
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const stream = `${prefix}calls`
  const redis = new Redis(redisUrl)
  const log = logLines()
  const link = new RedisLink({ redisUrl, redisPrefix: prefix, log, onConnected: () => {}, crowdedFrom })
  onTestFinished(async () => {
    link.close()
    redis.disconnect()
    await drop()
  })
  const append = async () => {
    await vi.waitFor(() => expect(link.connected).toBe(true))
    return await link.append(stream, PRODUCER, [{ sequence: 1, body: BODY }])
  }
  // Of another type: every entry is refused, and each refusal ends the connection.
  await redis.set(stream, 'no stream')
  for (let attempt = 0; attempt < 5; attempt += 1) await expect(append()).rejects.toThrow()
  expect(log.lines.map(({ event }) => event)).toEqual(['redis.away'])
  await redis.del(stream)
  expect(await append()).toHaveLength(1)
  expect(log.lines.at(-1)?.event).toBe('redis.back')
  expect(log.lines).toHaveLength(2)
})

test('a Redis that connects and refuses is connected to less and less often, until it has taken entries', async () => {
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const stream = `${prefix}calls`
  const redis = new Redis(redisUrl)
  await redis.set(stream, 'no stream')
  const startedAtMs = performance.now()
  let connections = 0
  const onConnected = () => {
    connections += 1
    void link.append(stream, PRODUCER, [{ sequence: 1, body: BODY }]).catch(() => {})
  }
  const link = new RedisLink({ redisUrl, redisPrefix: prefix, log: logLines(), onConnected, crowdedFrom })
  onTestFinished(async () => {
    link.close()
    redis.disconnect()
    await drop()
  })
  await vi.waitFor(() => expect(connections).toBe(6))
  // Pauses of 50, 100, 200, 400 and 800 ms.
  expect(performance.now() - startedAtMs).toBeGreaterThan(1_500)
  await redis.del(stream)
  await vi.waitFor(async () => expect(await redis.xlen(stream)).toBe(1))
  // The next failure is the first again.
  await redis.set(stream, 'no stream')
  const [before, failedAtMs] = [connections, performance.now()]
  await expect(link.append(stream, PRODUCER, [{ sequence: 2, body: BODY }])).rejects.toThrow()
  await vi.waitFor(() => expect(connections).toBe(before + 1))
  expect(performance.now() - failedAtMs).toBeLessThan(1_000 * busyness())
})

test('nothing is sent under a prefix of another database, whichever is known first, and it is said once', async () => {
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const redis = new Redis(redisUrl)
  const log = logLines()
  await redis.set(databaseName(prefix), 'theirs')
  const link = new RedisLink({ redisUrl, redisPrefix: prefix, log, onConnected: () => {}, crowdedFrom })
  onTestFinished(async () => {
    link.close()
    redis.disconnect()
    await drop()
  })
  await vi.waitFor(() => expect(link.connected).toBe(true))
  link.useDatabase('ours')
  expect(link.connected).toBe(false)
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await expect(link.append(`${prefix}calls`, PRODUCER, [{ sequence: 1, body: BODY }])).rejects.toThrow()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(await redis.exists(`${prefix}calls`)).toBe(0)
  expect(log.lines.map(({ event }) => event)).toEqual(['redis.prefix_of_another'])
  // The other deployment has gone.
  await redis.del(databaseName(prefix))
  await vi.waitFor(() => expect(link.connected).toBe(true))
  expect(await link.append(`${prefix}calls`, PRODUCER, [{ sequence: 1, body: BODY }])).toHaveLength(1)
})

test('a stream that has more entries than it should, of whatever producers, is crowded until it has not', async () => {
  const { redisUrl, prefix, drop } = testRedisPrefix()
  const [stream, other] = [`${prefix}calls`, `${prefix}calls:1`]
  const redis = new Redis(redisUrl)
  const options = { redisUrl, redisPrefix: prefix, log: logLines(), onConnected: () => {} }
  const link = new RedisLink({ ...options, crowdedFrom: () => 3 })
  onTestFinished(async () => {
    link.close()
    redis.disconnect()
    await drop()
  })
  await vi.waitFor(() => expect(link.connected).toBe(true))
  expect(link.isCrowded(stream)).toBe(false)
  for (const sequence of [1, 2, 3]) await redis.xadd(stream, '*', ...encodeEntry(OTHER, sequence, BODY))
  await link.append(stream, PRODUCER, [{ sequence: 1, body: BODY }])
  await link.append(other, PRODUCER, [{ sequence: 1, body: BODY }])
  expect([link.isCrowded(stream), link.isCrowded(other)]).toEqual([true, false])
  await redis.xtrim(stream, 'MAXLEN', 1)
  await link.append(stream, PRODUCER, [{ sequence: 2, body: BODY }])
  expect(link.isCrowded(stream)).toBe(false)
})
