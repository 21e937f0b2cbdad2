// @seconds: documents of many megabytes.
import { expect, test } from 'vitest'
import type { RequestScan } from '../../src/gateway/bodies/request-body.ts'
import { scanInSlices, scanRequestBody } from '../../src/gateway/bodies/request-body.ts'
import { joinInSlices, SlicedWork } from '../../src/lib/sliced-work.ts'
import { busyness } from '../support/patience.ts'
import { rounds } from '../support/rounds.ts'

const MEGABYTES = rounds({ short: 8, long: 20 })
const BODY_BYTES = MEGABYTES * 1_000_000
/** No task may take the event loop for longer; half of it, where nothing else shares the core. */
const MAX_SLICE_MS = 40

/** `start`, then `unit` again and again, then `end`. */
function bodyOf(start: string, unit: string, end: string): Buffer {
  return Buffer.concat([
    Buffer.from(start),
    Buffer.alloc(BODY_BYTES - start.length - end.length, unit),
    Buffer.from(end),
  ])
}

/** The longest time that this thread worked without a turn of the event loop until `done` is called. */
function longestTurn(work: (done: () => void) => void): Promise<number> {
  return new Promise((resolve) => {
    let isDone = false
    let longestUs = 0
    let before = process.threadCpuUsage()
    const turn = () => {
      const { user, system } = process.threadCpuUsage(before)
      longestUs = Math.max(longestUs, user + system)
      before = process.threadCpuUsage()
      if (isDone) resolve(longestUs / 1000)
      else setImmediate(turn)
    }
    setImmediate(turn)
    work(() => {
      isDone = true
    })
  })
}

async function scanned(body: Buffer): Promise<readonly [scan: RequestScan | null, longestTurnMs: number]> {
  let found: RequestScan | null = null
  const longest = await longestTurn((done) =>
    scanInSlices(
      'client',
      body,
      () => true,
      (scan) => {
        found = scan
        done()
      },
    ),
  )
  return [found, longest]
}

const START = '{"model":"gpt-4o-mini"'

test.each([
  ['text', `${START},"x":"`, 'words and words ', '"}'],
  ['empty arrays', `${START},"x":[`, '[],', '[]]}'],
  ['open brackets', `${START},"x":`, '[', '}'],
  ['escaped quotes', `${START},"x":"`, '\\"', '"}'],
  ['backslashes', `${START},"x":"`, '\\', '"}'],
  ['short strings', `${START},"x":[`, '"",', '""]}'],
  ['white space', START, ' ', '}'],
  ['white space before it', ' ', ' ', `${START}}`],
  ['white space behind it', `${START}}`, ' ', ' '],
  ['a long number', `${START},"x":`, '1', '}'],
  ['a long key', `${START},"`, 'key', '":1}'],
  ['keys', START, ',"a":1', '}'],
  ['keys with escapes', START, ',"\\u0061":1', '}'],
  ['models', START, ',"model":"a"', '}'],
  ['keys in the stream options', `${START},"stream":true,"stream_options":{"x":1`, ',"a":1', '}}'],
  ['an array in settings', `${START},"options":{"a":[`, '[],', '[]],"num_predict":5,"n":3}}'],
  ['settings', `${START},"max_tokens":1`, ',"options":{"a":1,"n":3}', '}'],
  ['stream options', START, ',"stream_options":{"a":1,"b":2}', '}'],
])(`${MEGABYTES} MB of %s are scanned without taking the event loop for long, and as in one piece`, async (_, ...parts) => {
  const body = bodyOf(...parts)
  const [scan, longest] = await scanned(body)
  expect(longest).toBeLessThan(MAX_SLICE_MS * busyness())
  const whole = scanRequestBody(body)
  expect(scan).toEqual(whole)
  expect([scan?.asked.countOf('n'), scan?.asked.isUnsure]).toEqual([
    whole.asked.countOf('n'),
    whole.asked.isUnsure,
  ])
})

test('a model behind more keys than a body may have is not taken for the one that stands first', () => {
  const keys = (count: number) =>
    scanRequestBody(Buffer.from(`{"model":"cheap"${',"a":1'.repeat(count - 2)},"model":"dear"}`))
  expect(keys(1_000)).toMatchObject({ readable: true, model: 'dear', duplicateModel: true })
  expect(keys(1_001)).toMatchObject({ readable: false, model: null, duplicateModel: true })
})

test('a scan without a waiting caller ends', async () => {
  const body = bodyOf(`${START},"x":[`, '[],', '[]]}')
  let checks = 0
  const scan = await new Promise((resolve) => {
    scanInSlices('client', body, () => ++checks < 3, resolve)
  })
  expect([scan, checks]).toEqual([null, 3])
})

test('98 MB are joined without taking the event loop for long, and their parts released', async () => {
  const parts = [
    ...Array.from({ length: 1_000 }, (_, n) => Buffer.alloc(48_000, n)),
    Buffer.alloc(50_000_000, 'x'),
  ]
  const expected = Buffer.concat(parts)
  let joined: Buffer = Buffer.alloc(0)
  const longest = await longestTurn((done) =>
    joinInSlices('client', parts, (whole) => {
      joined = whole
      done()
    }),
  )
  expect(longest).toBeLessThan(MAX_SLICE_MS * busyness())
  expect(joined.equals(expected)).toBe(true)
  expect(parts).toEqual([])
})

test('one slice a turn, and clients take turns however much work one has', async () => {
  const work = new SlicedWork()
  const slices: string[] = []
  let turns = 0
  const count = () => {
    turns += 1
    if (slices.length < 40) setImmediate(count)
  }
  setImmediate(count)
  await new Promise<void>((resolve) => {
    for (let job = 0; job < 10; job += 1) {
      let left = 3
      work.run('noisy', () => {
        slices.push('noisy')
        left -= 1
        return left === 0
      })
    }
    let left = 3
    work.run('quiet', () => {
      slices.push('quiet')
      left -= 1
      if (left === 0) resolve()
      return left === 0
    })
  })
  expect(slices).toEqual(['noisy', 'quiet', 'noisy', 'quiet', 'noisy', 'quiet'])
  expect(turns).toBeGreaterThanOrEqual(5)
})
