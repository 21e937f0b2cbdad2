import { describe, expect, test } from 'vitest'
import { EstimateThread } from '../../src/call/estimate-thread.ts'

/** A thread that answers with the length of what it gets, and dies of `die`. */
function openThread(): EstimateThread {
  const script = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ id, counted }) => {
      if (counted === 'die') process.exit(1)
      if (counted === 'throw') throw new Error('dying')
      parentPort.postMessage({ id, tokens: counted.length })
    })`
  return new EstimateThread(new URL(`data:text/javascript,${encodeURIComponent(script)}`))
}

function estimateAll(
  thread: EstimateThread,
  counted: readonly (string | Buffer)[],
): Promise<(number | null)[]> {
  return Promise.all(counted.map((one) => thread.estimate(one, null, 'x')))
}

describe('the thread that estimates', () => {
  test('answers each job, texts and just the bytes that were given', async () => {
    const bytes = Buffer.from('a pool full of other bytes').subarray(2, 6)
    expect(await estimateAll(openThread(), ['four', '', bytes, 'sixsix'])).toEqual([4, 0, 4, 6])
    expect(bytes.toString()).toBe('pool')
  })

  test.each([
    'die',
    'throw',
  ])('its death (%s) costs what it had in hand, the rest goes to a new one', async (word) => {
    const thread = openThread()
    const results = await estimateAll(thread, ['a', word, 'a', 'a', 'bb', 'bb', 'bb', 'bb'])
    expect(results[1]).toBe(null)
    expect(results.slice(5)).toEqual([2, 2, 2])
    expect(await estimateAll(thread, ['ccc'])).toEqual([3])
  })

  test('a crowd of estimates is made in the end, 10,000 at most waiting; the next ones are given up', async () => {
    const thread = openThread()
    const results = await estimateAll(thread, Array<string>(10_100).fill('five!'))
    expect(results.slice(0, 10_000)).toEqual(Array<number>(10_000).fill(5))
    expect(results.at(-1)).toBe(null)
    expect(await estimateAll(thread, ['again'])).toEqual([5])
  })
})
