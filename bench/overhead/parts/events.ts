import { setTimeout as delay } from 'node:timers/promises'
import { cpuBetween, useOf } from '../../stand/proc.ts'
import { type Cell, type Figures, measureCell } from '../cells.ts'
import { type Shape, streamShape, WIRE_NAMES } from '../load/shapes.ts'
import { BESIDE, RELAY, type Rig } from '../rig.ts'
import type { Target } from '../targets/target.ts'
import type { Part } from './part.ts'
import { warmUpFor } from './streams.ts'

const STREAMS = 200
/** As models write; a read each, since no two of a stream come together. */
const EVERY_MS = 50
const BEGIN_MS = 200
/** After the last is begun: answers have begun, and what a call costs at its start is over. */
const SETTLE_MS = 300
const WINDOW_MS = 1_500
/** The first of them ends half a second after the window. */
const EVENTS = (BEGIN_MS + SETTLE_MS + WINDOW_MS + 500) / EVERY_MS

/** What one more event costs, on every wire: beside a relay of bytes, and nginx. */
export const eventsPart: Part = {
  name: 'events',
  title: 'Events of open streams',
  about: [
    `CPU while ${STREAMS} streams are open, with an event of each every ${EVERY_MS} ms, by event: neither their starts nor`,
    'their ends are in it. The relay is a process of Node that passes bytes from socket to socket and reads nothing. Bare',
    'is left out: as it comes it has 128 connections to the origin.',
  ].join(' '),
  columns: [
    { figure: 'eventUs', title: 'an event, µs', digits: 2 },
    { figure: `eventUs / ${RELAY}`, title: 'of the relay', digits: 2 },
    { figure: 'eventUs / nginx', title: 'of nginx', digits: 2 },
    { figure: `eventUs / ${BESIDE}`, title: `of ${BESIDE}`, digits: 2 },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const cells: Cell[] = []
    for (const wire of WIRE_NAMES) {
      if (!isAsked(wire)) continue
      await warmUpFor(rig, wire, scale)
      const shape = streamShape(wire, EVENTS, { everyMs: EVERY_MS, together: 1 })
      const cell = await measureCell({
        name: wire,
        targets: rig.targetsBut('origin', 'bare').filter(({ takesAllWires }) => takesAllWires),
        rounds,
        isNew: scale === 1,
        measure: (target) => measureEvents(rig, target, shape),
        comparisons: [RELAY, 'nginx', BESIDE].map((other) => ({
          figure: 'eventUs',
          with: other,
          by: 'ratio',
        })),
      })
      cells.push(cell)
    }
    return cells
  },
}

async function measureEvents(rig: Rig, target: Target, shape: Shape): Promise<Figures> {
  const course = { kind: 'held', calls: STREAMS, beginMs: BEGIN_MS } as const
  const pid = rig.pidOf(target)
  let spentUs: number | null = null
  let events = 0
  if (pid === null) return { eventUs: null }
  await rig.run(target, shape, course, async () => {
    await delay(course.beginMs + SETTLE_MS)
    const before = useOf(pid)
    const startedMs = performance.now()
    await delay(WINDOW_MS)
    spentUs = cpuBetween(before, useOf(pid))
    events = (STREAMS * (performance.now() - startedMs)) / EVERY_MS
  })
  return { eventUs: spentUs === null ? null : spentUs / events }
}
