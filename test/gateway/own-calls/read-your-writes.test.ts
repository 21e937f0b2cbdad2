import { afterAll, beforeAll, expect, test } from 'vitest'
import { ReadYourWrites, type ReadYourWritesOptions } from '../../../src/gateway/own-calls/own-calls.ts'
import { busyness } from '../../support/patience.ts'
import { type Summary, startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('hasty')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

async function chat(): Promise<void> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  })
  await answer.text()
}

test('a client that asks for its usage right after a call sees the call', async () => {
  // A worker that has just started takes longer than a usage query may wait.
  await chat()
  await stack.usageOf(client, 1)
  let whole = 0
  for (let call = 2; call <= 21; call += 1) {
    await chat()
    const answer = await fetch(`${stack.url}/v1/usage`, {
      headers: { authorization: `Bearer ${client.key}` },
    })
    const { requests } = (await answer.json()) as Summary
    // Where the machine is too busy for an answer in time, it says that it may lack some.
    if (answer.headers.has('x-tallygate-as-of')) continue
    expect(requests).toBe(call)
    whole += 1
  }
  expect(whole).toBeGreaterThan(0)
})

function ownCalls(changes: Partial<ReadYourWritesOptions>): ReadYourWrites {
  return new ReadYourWrites({
    producerOf: (clientId) => `producer of ${clientId}`,
    lastSequenceOf: () => 3,
    readCommittedOffsets: async () => new Map(),
    readOthersEnds: async () => ({ ends: new Map(), isComplete: true }),
    readLateMs: async () => null,
    ...changes,
  })
}

test('a hundred usage queries at once do not read the committed offset a hundred times', async () => {
  let reading = 0
  let most = 0
  let committedOffset = 0
  const own = ownCalls({
    readCommittedOffsets: async () => {
      reading += 1
      most = Math.max(most, reading)
      await new Promise((resolve) => setImmediate(resolve))
      reading -= 1
      committedOffset += 1
      return new Map([['producer of c', committedOffset]])
    },
  })
  own.ended('c')
  await Promise.all(Array.from({ length: 100 }, () => own.counted('c')))
  expect(most).toBe(1)
  expect(committedOffset).toBeLessThan(10)
})

test('a usage query waits neither for other clients nor for other shards', async () => {
  let last = 7
  const own = ownCalls({
    lastSequenceOf: () => last,
    readCommittedOffsets: async () => new Map([['producer of c', 7]]),
  })
  own.ended('c')
  last = 900 // The shard's other clients go on, and are not counted.
  own.ended('other')
  expect(await own.counted('c')).toBeNull()
})

test('a client whose calls are known to be counted is answered without a query to the store', async () => {
  let reads = 0
  const own = ownCalls({
    readCommittedOffsets: async () => {
      reads += 1
      return new Map([['producer of c', 3]])
    },
  })
  own.ended('c')
  await own.counted('c')
  await own.counted('c')
  await own.counted('no calls')
  expect(reads).toBe(1)
})

test('a store that does not answer holds up a usage query for a second at most', async () => {
  const own = ownCalls({ readCommittedOffsets: () => new Promise(() => {}) })
  own.ended('c')
  const askedAt = performance.now()
  await own.counted('c')
  expect(performance.now() - askedAt).toBeLessThan(3_000 * busyness())
})

const others =
  (ends: readonly [string, number][], isComplete = true) =>
  async () => ({ ends: new Map(ends), isComplete })

test('a usage query waits for calls that ended at other gateways, and asks for their offsets by name', async () => {
  let offset = 40
  const asked: (readonly string[])[] = []
  const own = ownCalls({
    readOthersEnds: others([['theirs', 42]]),
    readCommittedOffsets: async (others) => {
      asked.push(others)
      offset += 1
      return new Map([['theirs', offset]])
    },
  })
  expect(await own.counted('c')).toBeNull()
  expect(asked).toEqual([['theirs'], ['theirs']])
  expect(await own.counted('c')).toBeNull()
  expect(asked).toHaveLength(2)
})

test.each([
  ['a call is not counted in time', { readOthersEnds: others([['theirs', 42]]) }, 10_000],
  ['what ended at others is not known', { readOthersEnds: others([], false) }, 10_000],
  ['whether counting is late is not known', { readLateMs: () => Promise.reject(new Error('away')) }, 10_000],
  ['records of a gateway wait for long', { readLateMs: async () => 75_000 }, 75_000],
])('where %s the answer may lack calls, and says how old these are at most', async (_, changes, ageMs) => {
  expect(await ownCalls(changes).counted('c')).toBe(ageMs)
})
