import { describe, expect, test } from 'vitest'
import { type EstimateLimits, EstimateThread } from '../../../src/gateway/estimation/estimate-thread.ts'

const LIMITS: EstimateLimits = {
  clientJobs: 1_000,
  jobs: 2_500,
  clientBytes: 10_000,
  bytes: 25_000,
  waitMs: 60_000,
  jobMs: 60_000,
}

/** A thread that answers with ten times the length of what it gets, dies of `die` and says nothing to `hang`. */
function openThread(limits: Partial<EstimateLimits> = {}): EstimateThread {
  const script = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ id, counted }) => {
      if (counted === 'die') process.exit(1)
      if (counted === 'throw') throw new Error('dying')
      if (counted === 'hang') for (;;);
      parentPort.postMessage({ id, tokens: counted === 'null' ? null : counted.length * 10 })
    })`
  return new EstimateThread(new URL(`data:text/javascript,${encodeURIComponent(script)}`), {
    ...LIMITS,
    ...limits,
  })
}

function estimateAll(
  thread: EstimateThread,
  counted: readonly (string | Buffer)[],
  clientId = 'client',
): Promise<number[]> {
  return Promise.all(counted.map((one) => thread.estimate(clientId, one, null, {})))
}

describe('the thread that estimates', () => {
  test('the estimation thread answers each job, texts and just the bytes that were given', async () => {
    const bytes = Buffer.from('a pool full of other bytes').subarray(2, 6)
    const long = Buffer.alloc(3_000_000, 'x')
    expect(await estimateAll(openThread({ bytes: 1e9 }), ['four', '', bytes, long, 'sixsix'])).toEqual([
      40, 0, 40, 750_000, 60,
    ])
    expect(await estimateAll(openThread({ bytes: 1e9 }), [long])).toEqual([30_000_000])
    expect(bytes.toString()).toBe('pool')
    expect(long).toHaveLength(3_000_000)
  })

  test('a text that the estimation thread cannot count is a token for four bytes', async () => {
    expect(await estimateAll(openThread(), ['null'])).toEqual([1])
  })

  test.each([
    'die',
    'throw',
  ])('the death of the estimation thread (%s) costs the jobs that it was counting, the others go to a new thread', async (word) => {
    const thread = openThread()
    const results = await estimateAll(thread, ['a', word, 'a', 'a', 'bb', 'bb', 'bb', 'bb'])
    expect(results[1]).toBe(Math.ceil(word.length / 4))
    expect(results.slice(5)).toEqual([20, 20, 20])
    expect(await estimateAll(thread, ['ccc'])).toEqual([30])
  })

  test('once counts are waited for no more, all that waits is a token for four bytes, and what comes is counted', async () => {
    const thread = openThread()
    const waiting = estimateAll(thread, ['hang', 'eighteen', 'a', 'b'])
    thread.giveUpAll()
    expect(await waiting).toEqual([1, 2, 1, 1])
    expect(await estimateAll(thread, ['ccc'])).toEqual([30])
  })

  test('a job that takes too long is given up with its thread, and the next ones are counted', async () => {
    // A new thread needs as long to begin where other work has the cores.
    const thread = openThread({ jobMs: 2_000 })
    const results = await estimateAll(thread, ['hang', 'a', 'bb', 'ccc'])
    expect(results).toEqual([1, 1, 20, 30])
  })

  test('a client waits for a job or two of each other client, however many they have', async () => {
    const thread = openThread()
    const order: string[] = []
    const crowd = ['noisy', 'noisier'].flatMap((clientId) =>
      Array.from({ length: 500 }, () =>
        thread.estimate(clientId, 'five!', null, {}).then(() => order.push(clientId)),
      ),
    )
    await thread.estimate('quiet', 'mine', null, {}).then(() => order.push('quiet'))
    expect(order.length).toBeLessThanOrEqual(6)
    await Promise.all(crowd)
    expect(order).toHaveLength(1_001)
  })

  test('so many jobs and bytes of one client wait, a job above that is a token for four bytes', async () => {
    const jobs = await estimateAll(openThread(), Array<string>(1_100).fill('five!'))
    expect(jobs.slice(0, 1_000)).toEqual(Array<number>(1_000).fill(50))
    expect(jobs.at(-1)).toBe(2)
    const thread = openThread()
    const bytes = await estimateAll(thread, Array<string>(30).fill('x'.repeat(1_000)))
    expect(bytes.slice(0, 10)).toEqual(Array<number>(10).fill(10_000))
    expect(bytes.at(-1)).toBe(250)
    expect(await estimateAll(thread, ['again'])).toEqual([50])
  })

  test('above the bounds for all, the client with most waiting goes without a count, not the last one', async () => {
    const thread = openThread({ jobs: 100, bytes: 20_000 })
    const many = estimateAll(thread, Array<string>(200).fill('five!'), 'many')
    const large = estimateAll(thread, Array<string>(12).fill('x'.repeat(2_000)), 'large')
    const quiet = await estimateAll(thread, ['mine', 'mine'], 'quiet')
    expect(quiet).toEqual([40, 40])
    expect((await many).filter((tokens) => tokens === 2).length).toBeGreaterThanOrEqual(98)
    expect((await large).filter((tokens) => tokens === 500).length).toBeGreaterThan(0)
    expect([...(await many), ...(await large)].every((tokens) => tokens > 0)).toBe(true)
  })

  test('a job that has waited too long is answered without counting', async () => {
    const thread = openThread({ waitMs: -1 })
    expect(await estimateAll(thread, ['eight by', 'six by'])).toEqual([2, 2])
  })
})
