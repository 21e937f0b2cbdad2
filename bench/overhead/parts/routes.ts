import { measureCell } from '../cells.ts'
import { jsonShape, type Shape } from '../load/shapes.ts'
import { WARM_UP_CALLS } from '../rig.ts'
import { perCall } from './json.ts'
import type { Part } from './part.ts'

const CONNECTIONS = 32
/** Some two seconds of calls: what a route costs is less than what rounds of one second differ by. */
const CALLS = 20_000
/** The name that clients write; its first target serves every call. */
const MODEL = 'by-a-route'
const ROUTES = `routes:
  - { model: ${MODEL}, order: listed, to: [{ upstream: openai, model: gpt-4o-mini }, { upstream: vllm, model: gpt-4o-mini }] }
`

/** What it costs that a call goes by a route, beside a gateway that has no routes. */
export const routesPart: Part = {
  name: 'routes',
  title: 'Calls by a route',
  about: [
    `JSON answers of 1 KB over ${CONNECTIONS} connections. \`tallygate\` has no routes; calls to \`routed\` name a route`,
    'of two targets, whose first one answers. Both have stores and a worker of their own.',
  ].join(' '),
  columns: [
    { figure: 'cpuUs', title: 'CPU of the gateway, µs', digits: 1 },
    { figure: 'cpuUs / tallygate', title: 'of tallygate', digits: 3 },
    { figure: 'perSecond', title: 'calls a second', digits: 0 },
    { figure: 'perSecond / tallygate', title: 'of tallygate', digits: 3 },
    { figure: 'workerUs', title: 'worker, µs', digits: 1 },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const name = `1 KB, ${CONNECTIONS} connections`
    if (!isAsked(name)) return []
    const routed = await rig.addGateway('routed', ROUTES)
    const plain = jsonShape(1)
    const shapes = new Map<string, Shape>([
      [rig.tallygate.name, plain],
      [routed.name, { ...plain, body: plain.body.replace('gpt-4o-mini', MODEL) }],
    ])
    const shapeFor = (target: string) => shapes.get(target) ?? plain
    const course = { kind: 'closed', connections: CONNECTIONS, calls: Math.ceil(CALLS * scale) } as const
    const warmUp = { ...course, calls: WARM_UP_CALLS * scale }
    await rig.run(routed.target, shapeFor(routed.name), warmUp)
    const cell = await measureCell({
      name,
      targets: [rig.tallygate.target, routed.target],
      rounds,
      isNew: true,
      measure: async (target) => perCall(await rig.run(target, shapeFor(target.name), course)),
      comparisons: [
        { figure: 'cpuUs', with: rig.tallygate.name, by: 'ratio' },
        { figure: 'perSecond', with: rig.tallygate.name, by: 'ratio' },
      ],
    })
    return [cell]
  },
}
