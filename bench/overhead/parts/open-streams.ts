import { setTimeout as delay } from 'node:timers/promises'
import { memoryOf } from '../../stand/proc.ts'
import { type Cell, type Figures, measureCell } from '../cells.ts'
import { type Shape, streamShape } from '../load/shapes.ts'
import type { Rig } from '../rig.ts'
import type { Target } from '../targets/target.ts'
import type { Part } from './part.ts'
import { eventFigures } from './streams.ts'

const STREAMS = [1_000, 2_000]
/** At 2,000 streams the last begins after two seconds, and the first ends after four. */
const EVENTS = 16
const EVERY_MS = 250
const BEGUN_A_MS = 1
/** After the last is begun: then all are open. */
const SETTLE_MS = 600

/** Thousands of streams at once, each slow, as with a busy gateway. */
export const openStreamsPart: Part = {
  name: 'open-streams',
  title: 'Streams open at once',
  about: [
    `Chat streams of ${EVENTS} events, one every ${EVERY_MS} ms, begun at ${BEGUN_A_MS * 1000} a second and all open at`,
    'once. Queued are those that had their first byte only after another stream had ended. Gaps are between two reads of',
    'one stream; the origin spreads the streams evenly. Bare is left out: as it comes it has 128 connections to the',
    'origin, and all other streams wait until one of these has ended.',
  ].join(' '),
  columns: [
    { figure: 'gapP50', title: 'gap p50, ms', digits: 1 },
    { figure: 'gapP99', title: 'gap p99, ms', digits: 1 },
    { figure: 'gapP99 - origin', title: 'gap p99 added, ms', digits: 1 },
    { figure: 'firstP50', title: 'first byte p50, ms', digits: 2 },
    { figure: 'firstP99', title: 'first byte p99, ms', digits: 2 },
    { figure: 'firstP99 - origin', title: 'first byte p99 added, ms', digits: 2 },
    { figure: 'queued', title: 'queued', digits: 0 },
    { figure: 'eventUs', title: 'CPU an event, µs', digits: 1 },
    { figure: 'rssBeforeMb', title: 'RSS before, MB', digits: 0 },
    { figure: 'rssOpenMb', title: 'RSS while open, MB', digits: 0 },
    { figure: 'rssMb', title: 'RSS after, MB', digits: 0 },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const cells: Cell[] = []
    for (const full of STREAMS) {
      const streams = Math.ceil(full * scale)
      const name = `${streams} streams`
      if (!isAsked(name)) continue
      const shape = streamShape('chat', Math.max(EVENTS * scale, 4), { everyMs: EVERY_MS, together: 1 })
      const cell = await measureCell({
        name,
        targets: rig.targetsBut('bare'),
        rounds,
        isNew: false,
        measure: (target) => measureOpen(rig, target, shape, streams),
        comparisons: [
          { figure: 'gapP99', with: 'origin', by: 'difference' },
          { figure: 'firstP99', with: 'origin', by: 'difference' },
        ],
      })
      cells.push(cell)
    }
    return cells
  },
}

async function measureOpen(rig: Rig, target: Target, shape: Shape, streams: number): Promise<Figures> {
  const course = { kind: 'held', calls: streams, beginMs: streams / BEGUN_A_MS } as const
  let open: number | null = null
  const measured = await rig.run(target, shape, course, async () => {
    await delay(course.beginMs + SETTLE_MS)
    const pid = rig.pidOf(target)
    open = pid === null ? null : (memoryOf(pid)?.rssMb ?? null)
  })
  const { load, before, after } = measured
  return {
    gapP50: load.gaps.p50,
    gapP99: load.gaps.p99,
    firstP50: load.firstByte.p50,
    firstP99: load.firstByte.p99,
    queued: load.queued,
    ...eventFigures(measured, shape),
    rssBeforeMb: before?.rssMb ?? null,
    rssOpenMb: open,
    rssMb: after?.rssMb ?? null,
  }
}
