import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { CallRecord, OpenCall } from '../../src/call/call-record.ts'
import { streamNames } from '../../src/domain/redis/redis-names.ts'
import { parseEntry, parseRecord } from '../../src/ledger/entry.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { shardOf } from '../../src/ledger/own-producers.ts'
import { callId, callRecord, openCall } from './support/calls.ts'
import { namesIn } from './support/folders.ts'
import { type Site, testSite } from './support/ledgers.ts'

const SOON = { interval: 20 }
const CLIENTS = 12

function opened(number: number): OpenCall {
  return { ...openCall(number), clientId: clientOf(number) }
}

function recorded(number: number): CallRecord {
  return { ...callRecord(number), clientId: clientOf(number) }
}

function clientOf(number: number): string {
  return `client-${number % CLIENTS}`
}

async function openAll(ledger: Ledger, numbers: readonly number[]): Promise<void> {
  for (const number of numbers)
    expect(await new Promise((resolve) => ledger.open(opened(number), resolve))).toBeNull()
}

async function callAll(ledger: Ledger, from: number, to: number): Promise<number[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  await openAll(ledger, numbers)
  const errors = numbers.map(
    (number) => new Promise<Error | null>((resolve) => ledger.close(recorded(number), resolve)),
  )
  for (const error of await Promise.all(errors)) expect(error).toBeNull()
  return numbers
}

/** Rolls up all streams that were ever registered until each of these calls was counted once. */
async function expectAllCounted({ totals, redis }: Site, numbers: readonly number[]): Promise<void> {
  await vi.waitFor(async () => {
    for (const stream of totals.streams) await totals.rollUp(redis, stream)
    expect(totals.counted.size).toBe(numbers.length)
  }, SOON)
  expect(totals.miscounted).toEqual([])
  expect(totals.gaps).toEqual([])
  expect([...totals.counted.keys()].sort()).toEqual(numbers.map(callId).sort())
}

function streamsAt({ stream }: Site, shards: number): readonly string[] {
  return streamNames(stream.replace(/calls$/, ''), shards)
}

test('all records of a client are on the stream of its shard, numbered 1, 2, 3 by a producer of that stream alone', async () => {
  const site = testSite()
  const streams = streamsAt(site, 3)
  const ledger = await site.ledger({ streams })
  await callAll(ledger, 1, 240)
  await vi.waitFor(() => expect(ledger.stats()).toMatchObject({ last: 240, sent: 240 }), SOON)
  const producers = new Set<string>()
  for (const [shard, stream] of streams.entries()) {
    const entries = (await site.redis.xrange(stream, '-', '+')).map(([, fields]) => parseEntry(fields))
    expect(entries.length).toBeGreaterThan(0)
    for (const [at, entry] of entries.entries()) {
      if (entry.kind !== 'entry') throw new Error(entry.kind)
      expect(entry.sequence).toBe(at + 1)
      producers.add(`${shard} ${entry.producer}`)
      const record = parseRecord(entry.body)
      if (record === null || 'void' in record) throw new Error('no record')
      expect(shardOf(record.clientId, 3)).toBe(shard)
      expect(ledger.producerOf(record.clientId)).toBe(entry.producer)
    }
  }
  expect([...producers].sort()).toEqual(ledger.producers.map((id, shard) => `${shard} ${id}`))
  expect(site.totals.streams.toSorted()).toEqual(streams.toSorted())
})

test('snapshots and discarded calls are of the journal that has the call', async () => {
  const site = testSite()
  const dying = await site.ledger({ streams: streamsAt(site, 4) })
  const numbers = Array.from({ length: 24 }, (_, index) => index + 1)
  await openAll(dying, numbers)
  for (const number of numbers) {
    if (number % 2 === 0) dying.discard(opened(number))
    else await new Promise((done) => dying.saveSnapshotNow(opened(number), () => `{"n":${number}}`, done))
  }
  expect(dying.stats().openCalls).toBe(12)
  await dying.stop(0)
  await site.ledger({ streams: streamsAt(site, 4) })
  await expectAllCounted(
    site,
    numbers.filter((number) => number % 2 === 1),
  )
})

test('the number of shards may change at every restart, up and down, with calls cut at each: all are counted once', async () => {
  const site = testSite()
  const called: number[] = []
  let number = 0
  for (const shards of [1, 4, 2, 5, 1, 3]) {
    const ledger = await site.ledger({ streams: streamsAt(site, shards), keepSeconds: 0.5 })
    called.push(...(await callAll(ledger, number + 1, number + 60)))
    number += 70
    const cut = Array.from({ length: 10 }, (_, index) => number - 9 + index)
    await openAll(ledger, cut)
    called.push(...cut)
    await ledger.stop(shards % 2 === 0 ? 1_000 : 0)
  }
  const last = await site.ledger({ streams: streamsAt(site, 2), keepSeconds: 0.5 })
  await expectAllCounted(site, called)
  expect(site.totals.streams.toSorted()).toEqual(streamsAt(site, 5).toSorted())
  // The folders of all that went before are deleted in the end.
  await vi.waitFor(
    () => expect(namesIn(site.journalDir)).toEqual([...last.producers, 'tombstones'].sort()),
    SOON,
  )
})

test('the cap is one over all shards, and the disk reserve too', async () => {
  const site = testSite()
  const ledger = await site.ledger({ streams: streamsAt(site, 4), journalMaxBytes: 50_000 })
  let number = 0
  while (ledger.canTakeCalls) await callAll(ledger, ++number, number)
  expect(ledger.stats().uncommittedBytes).toBeGreaterThanOrEqual(50_000)
  expect(ledger.stats().uncommittedBytes).toBeLessThan(51_000)
  const reserves = ledger.producers.filter((id) => existsSync(join(site.journalDir, id, 'reserve')))
  expect(reserves).toHaveLength(1)
  const rollUp = () => Promise.all(streamsAt(site, 4).map((stream) => site.totals.rollUp(site.redis, stream)))
  await vi.waitFor(async () => {
    await rollUp()
    expect(ledger.canTakeCalls).toBe(true)
  }, SOON)
})

test('a process that ends without a record leaves nothing, whatever the number of shards', async () => {
  const site = testSite()
  const ledger = await site.ledger({ streams: streamsAt(site, 8) })
  expect(namesIn(site.journalDir)).toHaveLength(8)
  await ledger.stop(0)
  expect(namesIn(site.journalDir)).toEqual([])
})
