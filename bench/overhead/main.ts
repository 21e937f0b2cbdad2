import { parseArgs } from 'node:util'
import { describeTestbed, OtherWork, warningsFor } from '../stand/testbed.ts'
import { eventsPart } from './parts/events.ts'
import { featuresPart } from './parts/features.ts'
import { jsonPart } from './parts/json.ts'
import { latencyPart } from './parts/latency.ts'
import { openStreamsPart } from './parts/open-streams.ts'
import type { Part } from './parts/part.ts'
import { startPart } from './parts/start.ts'
import { streamsPart } from './parts/streams.ts'
import { type Results, renderPart, renderResults, writeOverhead } from './report.ts'
import { Rig, WARM_UP_CALLS } from './rig.ts'
import { findNginx } from './targets/nginx.ts'
import { parsePeer } from './targets/target.ts'

/**
 * What the metered gateway costs beside an origin alone, nginx, a relay of bytes, and @fastify/http-proxy as it comes,
 * in turn in one run. Linux: reads /proc. docs/benchmarks.md describes the parts.
 *
 *   node bench/overhead/main.ts [--only json] [--match '1 KB, 32'] [--rounds 7] [--quick] [--out folder]
 *     [--beside another-checkout] [--origin-port 9000 --peer name=URL,key=…,pid=…]
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    match: { type: 'string', default: '' },
    only: { type: 'string', multiple: true, default: [] },
    peer: { type: 'string', multiple: true, default: [] },
    beside: { type: 'string' },
    'origin-port': { type: 'string', default: '0' },
    quick: { type: 'boolean', default: false },
    out: { type: 'string', default: 'bench/results' },
  },
})
const PARTS: readonly Part[] = [
  jsonPart,
  streamsPart,
  eventsPart,
  openStreamsPart,
  latencyPart,
  featuresPart,
  startPart,
]
/** Shows only that all of it works. */
const QUICK = { rounds: 2, scale: 0.1 }
const USUAL = { rounds: Number(values.rounds), scale: 1 }

const unknown = values.only.filter((name) => !PARTS.some((part) => part.name === name))
if (unknown.length > 0) throw new Error(`no part is called ${unknown.join(', ')}`)
const chosen = PARTS.filter(({ name }) => values.only.length === 0 || values.only.includes(name))
const options = {
  ...(values.quick ? QUICK : USUAL),
  isAsked: (cell: string) => cell.includes(values.match),
}
const peers = values.peer.map(parsePeer)

const testbed = describeTestbed(findNginx())
const otherWork = new OtherWork()
for (const warning of warningsFor(testbed, 0, values.quick)) console.error(warning)
const startedMs = performance.now()
const rig = await Rig.start({ peers, originPort: values['origin-port'], beside: values.beside ?? null })
await rig.warmUp(WARM_UP_CALLS * options.scale)
const parts: Results['parts'][number][] = []
for (const part of chosen) {
  const partMs = performance.now()
  const cells = await part.measure(rig, options)
  if (cells.length > 0) {
    parts.push({ part, cells })
    // Now, not at the end: who ends a long run keeps what it found.
    console.log(renderPart({ part, cells }).join('\n'))
  }
  console.error(`${part.name}: ${((performance.now() - partMs) / 1000).toFixed(0)} s`)
}
const warnings = warningsFor(testbed, otherWork.share(), values.quick)
const results = { testbed, warnings, seconds: (performance.now() - startedMs) / 1000, parts }
console.log(renderResults({ ...results, parts: [] }))
// A part alone, or a quick look, does not replace the figures that pages quote.
const isWhole =
  chosen.length === PARTS.length && values.match === '' && values.beside === undefined && !values.quick
if (isWhole || values.out !== 'bench/results') writeOverhead(values.out, results)
await rig.stop()
process.exit(0)
