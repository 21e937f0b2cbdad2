import { type Percentiles, spreadOf } from '../../stand/figures.ts'
import { type Cell, type Comparison, type Figures, measureCell } from '../cells.ts'
import { jsonShape, type Shape, streamShape } from '../load/shapes.ts'
import { RELAY, type Rig } from '../rig.ts'
import type { Target } from '../targets/target.ts'
import type { Part } from './part.ts'

const SATURATION = { runs: 3, connections: 64, calls: 10_000 }
const JSON_SECONDS = 3
const STREAMS = { aSecond: 100, seconds: 2.5, events: 30, pace: { everyMs: 5, together: 1 } }
/** Of the calls a second of which bare is capable: the second shows what a call waits for where nothing queues. */
const LOADS = [
  { part: 2, words: 'half load' },
  { part: 8, words: 'an eighth' },
] as const
const PERCENTILES = ['p50', 'p99', 'p999'] as const

const comparisons: readonly Comparison[] = ['origin', 'bare'].flatMap((other) =>
  PERCENTILES.map((figure) => ({ figure, with: other, by: 'difference' }) as const),
)

/** What a call waits for longer, with calls coming in at a fixed rate. */
export const latencyPart: Part = {
  name: 'latency',
  title: 'Latency at fixed rates',
  about: [
    'Calls are sent at times fixed beforehand, whatever became of those before, and measured from these times: a',
    'proxy that stalls delays calls that are counted, so nothing is omitted. Half load is half of the calls a second of',
    'which bare is capable in this run, an eighth is an eighth of them. Late: how far behind its times the generator',
    'was, which is within all figures. All in milliseconds.',
  ].join(' '),
  columns: [
    { figure: 'p50', title: 'p50', digits: 2 },
    { figure: 'p99', title: 'p99', digits: 2 },
    { figure: 'p999', title: 'p99.9', digits: 2 },
    { figure: 'p50 - origin', title: 'p50 added', digits: 2 },
    { figure: 'p99 - origin', title: 'p99 added', digits: 2 },
    { figure: 'p999 - origin', title: 'p99.9 added', digits: 2 },
    { figure: 'p50 - bare', title: 'p50 beside bare', digits: 2 },
    { figure: 'p99 - bare', title: 'p99 beside bare', digits: 2 },
    { figure: 'lateP50', title: 'late p50', digits: 2 },
    { figure: 'lateP99', title: 'late p99', digits: 2 },
  ],
  async measure(rig, { rounds, scale }) {
    const saturation = await saturationOf(rig, scale)
    const cells: Cell[] = []
    for (const { part, words } of LOADS) {
      const perSecond = Math.round(saturation / part)
      const whole = await measureCell({
        name: `JSON of 1 KB, whole answer, ${words}: ${perSecond} calls a second`,
        targets: rig.targetsBut(RELAY),
        rounds,
        isNew: scale === 1 && part === LOADS[0].part,
        comparisons,
        measure: (target) =>
          measureOpenLoad(rig, target, jsonShape(1), perSecond, JSON_SECONDS * scale, 'whole'),
      })
      cells.push(whole)
    }
    const { aSecond, seconds, events, pace } = STREAMS
    const first = await measureCell({
      name: `stream, first byte, ${aSecond} streams a second`,
      targets: rig.targetsBut(RELAY),
      rounds,
      isNew: scale === 1,
      comparisons,
      measure: (target) =>
        measureOpenLoad(
          rig,
          target,
          streamShape('chat', events, pace),
          aSecond,
          seconds * scale,
          'firstByte',
        ),
    })
    return [...cells, first]
  },
}

/** Calls a second of the bare proxy when each connection sends its next call at once. */
async function saturationOf(rig: Rig, scale: number): Promise<number> {
  const bare = rig.targets.find(({ name }) => name === 'bare')
  if (bare === undefined) throw new Error('the bare proxy is not among the targets')
  const perSecond: number[] = []
  const course = {
    kind: 'closed',
    connections: SATURATION.connections,
    calls: SATURATION.calls * scale,
  } as const
  for (let run = 0; run < SATURATION.runs; run += 1) {
    const { load } = await rig.run(bare, jsonShape(1), course)
    perSecond.push((load.calls / load.ms) * 1000)
  }
  return spreadOf(perSecond)?.median ?? 0
}

async function measureOpenLoad(
  rig: Rig,
  target: Target,
  shape: Shape,
  perSecond: number,
  seconds: number,
  of: 'whole' | 'firstByte',
): Promise<Figures> {
  const calls = Math.ceil(perSecond * seconds)
  const { load } = await rig.run(target, shape, { kind: 'open', perSecond, calls })
  const { p50, p99, p999 }: Percentiles = load[of]
  return { p50, p99, p999, lateP50: load.lateness.p50, lateP99: load.lateness.p99 }
}
