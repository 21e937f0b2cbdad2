import { expect, test } from 'vitest'
import { summarise, titleOf } from '../../bench/overhead/cells.ts'
import { shapeNamed, shapeNameIn, streamShape, WIRE_NAMES } from '../../bench/overhead/load/shapes.ts'
import { renderSpread } from '../../bench/overhead/report.ts'
import { CallCount } from '../../bench/overhead/targets/call-count.ts'
import { parsePeer } from '../../bench/overhead/targets/target.ts'
import { inOrderOf, percentilesOf, spreadOf } from '../../bench/stand/figures.ts'
import { cpuBetween, memoryOf, useOf } from '../../bench/stand/proc.ts'
import { warningsFor } from '../../bench/stand/testbed.ts'

test('a percentile is the smallest value that so many do not exceed', () => {
  const thousand = Array.from({ length: 1000 }, (_, index) => 1000 - index)
  expect(percentilesOf(thousand)).toEqual({ count: 1000, p50: 500, p99: 990, p999: 999, max: 1000 })
  expect(percentilesOf([3])).toEqual({ count: 1, p50: 3, p99: 3, p999: 3, max: 3 })
  expect(percentilesOf([])).toMatchObject({ count: 0, p99: Number.NaN })
})

test('a spread has the median and leaves out rounds without a figure', () => {
  expect(spreadOf([9, 1, null, 3, Number.NaN])).toMatchObject({ median: 3, lowest: 1, highest: 9 })
  expect(spreadOf([1, 2])).toMatchObject({ median: 1.5, lowest: 1, highest: 2 })
  expect(spreadOf([null, Number.NaN])).toBeNull()
})

test('the interval of a median holds it in 95 of 100 runs, and all figures where there are few', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
  expect(spreadOf(upTo(8))?.interval).toEqual([1, 8])
  // Of a binomial distribution of 100: from the 40th to the 61st, 96.5 %; one closer on both sides, 94.3 %.
  expect(spreadOf(upTo(100))?.interval).toEqual([40, 61])
  expect(spreadOf(upTo(1000))?.interval).toEqual([469, 532])
})

test('behind a median stands its range, or its interval where a column says so', () => {
  const spread = { median: 1.25, lowest: 1, highest: 2, interval: [1.125, 1.5] } as const
  expect(renderSpread(spread, { digits: 1 })).toBe('1.3 (1.0 to 2.0)')
  expect(renderSpread(spread, { digits: 3, around: 'interval' })).toBe('1.250 (1.125 to 1.500)')
})

test('each target is the first of a round in turn, and follows each other one', () => {
  const orders = [0, 1, 2, 3, 4, 5].map((round) => inOrderOf(['a', 'b', 'c'], round).join(''))
  expect(orders).toEqual(['abc', 'cba', 'bca', 'acb', 'cab', 'bac'])
})

test('ratios and differences are those within a round, not of medians', () => {
  const cell = summarise(
    {
      name: 'c',
      rounds: 3,
      comparisons: [
        { figure: 'us', with: 'bare', by: 'ratio' },
        { figure: 'us', with: 'bare', by: 'difference' },
      ],
    },
    new Map([
      ['bare', [{ us: 1 }, { us: 10 }, { us: 4 }]],
      ['ours', [{ us: 2 }, { us: 5 }, { us: null }]],
    ]),
  )
  expect(cell.targets.ours).toMatchObject({
    us: { median: 3.5, lowest: 2, highest: 5 },
    'us / bare': { median: 1.25, lowest: 0.5, highest: 2 },
    'us - bare': { median: -2, lowest: -5, highest: 1 },
  })
  expect(cell.targets.bare).toMatchObject({ us: { median: 4, lowest: 1, highest: 10 } })
  expect(titleOf({ figure: 'p50', with: 'origin', by: 'difference' })).toBe('p50 - origin')
})

const COUNTED = { requests: 10, inputTokens: 250, outputTokens: 1500 }

test.each([
  [{ requests: 10 }, null],
  [{ requests: 9 }, '9 requests in place of 10'],
  [{ requests: 11 }, '11 requests in place of 10'],
  [{ inputTokens: 251 }, '251 inputTokens in place of 250'],
  [{ outputTokens: 1499 }, '1499 outputTokens in place of 1500'],
])('a run of 10 calls whose count has %j ends with %s', async (differing, problem) => {
  let counted = { requests: 4, inputTokens: 100, outputTokens: 600 }
  const count = new CallCount(async () => counted)
  await count.begin()
  count.expect({ inputTokens: 25, outputTokens: 150 }, 6)
  counted = { ...COUNTED, ...differing }
  if (problem === null) await count.check()
  else await expect(count.check(0)).rejects.toThrow(problem)
})

test.each(
  WIRE_NAMES,
)('the shape of %s is the same in origin and generator, and its usage is its events', (wire) => {
  const shape = streamShape(wire, 30, { everyMs: 4, together: 8 })
  expect(shapeNamed(shape.name)).toEqual(shape)
  expect(shapeNameIn(shape.body)).toBe(shape.name)
  expect(shape.outputTokens).toBe(30)
  expect(shape.expected).toEqual(Buffer.concat(shape.unasked))
  expect(shape.expected.includes('"usage":null')).toBe(wire === 'chat')
  expect(shape.unasked.length).toBe(shape.events.length - (wire === 'chat-asked' ? 1 : 0))
})

test.runIf(process.platform === 'linux')('the CPU and memory of a process are read from /proc', () => {
  const before = useOf(process.pid)
  const until = performance.now() + 100
  while (performance.now() < until) Math.sqrt(until)
  const spentUs = cpuBetween(before, useOf(process.pid))
  expect(spentUs).toBeGreaterThan(1_000)
  expect(memoryOf(process.pid)?.rssMb).toBeGreaterThan(10)
  expect(useOf(2 ** 22 + 1)).toBeNull()
})

test('CPU of threads that ended is taken from the accounting', () => {
  const before = { livingUs: 1_000, accountedUs: 0 }
  expect(cpuBetween(before, { livingUs: 51_500, accountedUs: 60_000 })).toBe(50_500)
  expect(cpuBetween(before, { livingUs: 2_000, accountedUs: 60_000 })).toBe(60_000)
})

test('a peer is its name, its address, and perhaps a key and a process', () => {
  expect(parsePeer('other=http://127.0.0.1:8080,key=sk-1,pid=42')).toEqual({
    name: 'other',
    host: '127.0.0.1',
    port: 8080,
    key: 'sk-1',
    pid: 42,
    takesAllWires: false,
    keepsBytes: false,
  })
  expect(parsePeer('o=http://h')).toMatchObject({ port: 80, key: 'none', pid: null })
  expect(() => parsePeer('http://h')).toThrow('--peer')
  expect(() => parsePeer('o=https://h')).toThrow('only http')
})

test('figures of a busy machine, a quick run or changed code say that they are not to be quoted', () => {
  expect(warningsFor({ loadBefore: 0.1, commit: 'abc' }, 0.01, false)).toEqual([])
  expect(warningsFor({ loadBefore: 3, commit: 'abc, with changes' }, 0.3, true)).toHaveLength(4)
})
