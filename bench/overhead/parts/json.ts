import { type Cell, type Figures, measureCell } from '../cells.ts'
import { jsonShape } from '../load/shapes.ts'
import { BESIDE, type Measured } from '../rig.ts'
import type { Part } from './part.ts'

const CONNECTIONS = [1, 4, 32, 256]
/** Some second of calls for the slowest of ours. */
const CALLS = new Map([
  [1, 2_000],
  [4, 6_000],
  [32, 5_000],
  [256, 5_000],
])

/** Whole answers of 1 and 64 KB, each connection's next call when the one before has ended. */
export const jsonPart: Part = {
  name: 'json',
  title: 'JSON answers',
  about: [
    'CPU is in microseconds a call, user and system of all threads, until 0.3 s after the last call;',
    'of worker, Redis and PostgreSQL until all calls are counted.',
  ].join(' '),
  columns: [
    { figure: 'cpuUs', title: 'CPU of the proxy, µs', digits: 1 },
    { figure: 'cpuUs / bare', title: 'of bare', digits: 2 },
    { figure: `cpuUs / ${BESIDE}`, title: `of ${BESIDE}`, digits: 2 },
    { figure: 'perSecond', title: 'calls a second', digits: 0 },
    { figure: 'perSecond / bare', title: 'of bare', digits: 2 },
    { figure: 'generatorUs', title: 'generator, µs', digits: 1 },
    { figure: 'originUs', title: 'origin, µs', digits: 1 },
    { figure: 'workerUs', title: 'worker, µs', digits: 1 },
    { figure: 'redisUs', title: 'Redis, µs', digits: 1 },
    { figure: 'postgresUs', title: 'PostgreSQL, µs', digits: 1 },
    { figure: 'rssBeforeMb', title: 'RSS before, MB', digits: 0 },
    { figure: 'rssMb', title: 'RSS after, MB', digits: 0 },
    { figure: 'pssMb', title: 'PSS after, MB', digits: 0 },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const cells: Cell[] = []
    for (const kilobytes of [1, 64]) {
      for (const connections of CONNECTIONS) {
        const name = `${kilobytes} KB, ${connections} connection${connections === 1 ? '' : 's'}`
        if (!isAsked(name)) continue
        const calls = Math.ceil((CALLS.get(connections) ?? 0) * scale * (kilobytes === 1 ? 1 : 0.6))
        const course = { kind: 'closed', connections, calls } as const
        const cell = await measureCell({
          name,
          targets: rig.targets,
          rounds,
          isNew: connections === 1 && scale === 1,
          measure: async (target) => perCall(await rig.run(target, jsonShape(kilobytes), course)),
          comparisons: [
            { figure: 'cpuUs', with: 'bare', by: 'ratio' },
            { figure: 'cpuUs', with: BESIDE, by: 'ratio' },
            { figure: 'perSecond', with: 'bare', by: 'ratio' },
          ],
        })
        cells.push(cell)
      }
    }
    return cells
  },
}

/** The figures of a run whose unit is the call. */
export function perCall(measured: Measured): Figures {
  const { load, before, after } = measured
  return {
    ...cpuEach(measured, load.calls),
    perSecond: (load.calls / load.ms) * 1000,
    p50: load.whole.p50,
    p99: load.whole.p99,
    rssBeforeMb: before?.rssMb ?? null,
    rssMb: after?.rssMb ?? null,
    pssMb: after?.pssMb ?? null,
  }
}

/** CPU of each process, in microseconds for each of `count`; the proxy's is `cpuUs`. */
export function cpuEach({ cpuUs }: Measured, count: number): Figures {
  return Object.fromEntries(
    Object.entries(cpuUs).map(([name, us]) => [
      name === 'proxy' ? 'cpuUs' : `${name}Us`,
      us === null ? null : us / count,
    ]),
  )
}
