import { type Cell, type Figures, measureCell } from '../cells.ts'
import type { Course } from '../load/loads.ts'
import { type Pacing, type Shape, streamShape, WIRE_NAMES } from '../load/shapes.ts'
import { BESIDE, type Measured, RELAY, type Rig } from '../rig.ts'
import type { Target } from '../targets/target.ts'
import { cpuEach } from './json.ts'
import type { Part } from './part.ts'

interface Kind {
  readonly name: string
  readonly events: number
  readonly pace: Pacing
  readonly streams: number
}

const CONNECTIONS = 16
/** Models write an event in some 10 to 50 ms; at 2 each is a read of its own still, and more fit into a second. */
const PACED = { everyMs: 2, together: 1 }
const IN_BURSTS = { everyMs: 4, together: 8 }

/** As many as each target takes until its code for a wire is compiled as after hours of streams. */
const WARM_UP = { kind: 'closed', connections: 64, calls: 10_000 } as const

function kindsFor(scale: number): readonly Kind[] {
  const [few, many] = [30, Math.max(1000 * scale, 100)]
  const kinds = [
    { name: `${few} events, paced`, events: few, pace: PACED, streams: 480 },
    { name: `${many} events, paced`, events: many, pace: PACED, streams: 16 },
    { name: `${few} events in bursts`, events: few, pace: IN_BURSTS, streams: 1_600 },
    { name: `${many} events in bursts`, events: many, pace: IN_BURSTS, streams: 32 },
  ]
  return kinds.map((kind) => ({ ...kind, streams: Math.ceil(kind.streams * scale) }))
}

/** Streams of every wire that the gateway reads, beside the same bytes through the bare proxy. */
export const streamsPart: Part = {
  name: 'streams',
  title: 'Streams',
  about: [
    'CPU is in microseconds; that of other processes than the proxy is for a whole stream. Paced streams have an',
    'event every 2 ms, streams in bursts eight events every 4 ms, 16 streams at once.',
    'In `chat-asked` the client does not ask for usage: the gateway asks, and takes it out again.',
  ].join(' '),
  columns: [
    { figure: 'cpuUs', title: 'CPU of the proxy a stream, µs', digits: 0 },
    { figure: 'eventUs', title: 'an event, µs', digits: 2 },
    { figure: 'cpuUs / bare', title: 'of bare', digits: 2 },
    { figure: `cpuUs / ${BESIDE}`, title: `of ${BESIDE}`, digits: 2 },
    { figure: 'eventsARead', title: 'events a read', digits: 1 },
    { figure: 'generatorUs', title: 'generator, µs', digits: 0 },
    { figure: 'originUs', title: 'origin, µs', digits: 0 },
    { figure: 'workerUs', title: 'worker, µs', digits: 0 },
    { figure: 'redisUs', title: 'Redis, µs', digits: 0 },
    { figure: 'postgresUs', title: 'PostgreSQL, µs', digits: 0 },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const cells: Cell[] = []
    for (const wire of WIRE_NAMES) {
      const kinds = kindsFor(scale).filter(({ name }) => isAsked(`${wire}, ${name}`))
      if (kinds.length > 0) await warmUpFor(rig, wire, scale)
      for (const kind of kinds) {
        const name = `${wire}, ${kind.name}`
        const shape = streamShape(wire, kind.events, kind.pace)
        const course = { kind: 'closed', connections: CONNECTIONS, calls: kind.streams } as const
        const cell = await measureCell({
          name,
          targets: streamTargets(rig, shape),
          rounds,
          isNew: false,
          measure: (target) => measureStreams(rig, target, shape, course),
          comparisons: [
            { figure: 'cpuUs', with: 'bare', by: 'ratio' },
            { figure: 'cpuUs', with: BESIDE, by: 'ratio' },
          ],
        })
        cells.push(cell)
      }
    }
    return cells
  },
}

/** Streams of the wire to all that are measured but the relay, to which all bytes are alike. */
export async function warmUpFor(rig: Rig, wire: string, scale: number): Promise<void> {
  const shape = streamShape(wire, 30, IN_BURSTS)
  for (const target of streamTargets(rig, shape))
    await rig.run(target, shape, { ...WARM_UP, calls: WARM_UP.calls * scale })
}

/** Peers have one upstream, at one wire. */
function streamTargets(rig: Rig, shape: Shape): readonly Target[] {
  return rig
    .targetsBut('origin', 'nginx', RELAY)
    .filter(({ takesAllWires }) => takesAllWires || shape.name.startsWith('chat'))
}

async function measureStreams(rig: Rig, target: Target, shape: Shape, course: Course): Promise<Figures> {
  const measured = await rig.run(target, shape, course)
  return { ...cpuEach(measured, measured.load.calls), ...eventFigures(measured, shape) }
}

/** The proxy's CPU for each event, and how many of them the client gets in one read. */
export function eventFigures({ cpuUs, load }: Measured, shape: Shape): Figures {
  const events = load.calls * shape.events.length
  return {
    eventUs: typeof cpuUs.proxy === 'number' ? cpuUs.proxy / events : null,
    eventsARead: events / (load.gaps.count + load.firstByte.count),
  }
}
