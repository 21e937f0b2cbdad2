import { readFileSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../src/lib/repeat.ts'
import { memoryOf } from '../../stand/proc.ts'
import { type Figures, summarise } from '../cells.ts'
import { jsonShape } from '../load/shapes.ts'
import type { Rig } from '../rig.ts'
import type { Part } from './part.ts'

const IDLE_MS = 10_000
const CALLS = { kind: 'closed', connections: 32, calls: 10_000 } as const
const ADOPTED_WITHIN_MS = 60_000

/** From the start of the process until it takes calls, and what it holds in memory then. */
export const startPart: Part = {
  name: 'start',
  title: 'Start and memory',
  about: [
    'From exec until /readyz answers 200, its servers running. Without what Node keeps compiled, as at the very first',
    'start; with it; and after kill -9 of a gateway whose journal has the records of 10,000 calls that no worker has',
    'counted: until they are adopted, and, with the worker started after that, until all are counted, each once. Memory',
    'is that of the second start, 10 s idle, and after 10,000 calls more.',
  ].join(' '),
  columns: [
    { figure: 'readyMs', title: 'ready, ms', digits: 0 },
    { figure: 'adoptedMs', title: 'adopted, ms', digits: 0 },
    { figure: 'countedMs', title: 'all counted, ms', digits: 0 },
    { figure: 'adopted', title: 'records adopted', digits: 0 },
    { figure: 'rssMb', title: 'RSS idle, MB', digits: 0 },
    { figure: 'pssMb', title: 'PSS idle, MB', digits: 0 },
    { figure: 'rssLoadedMb', title: 'RSS after load, MB', digits: 0 },
    { figure: 'pssLoadedMb', title: 'PSS after load, MB', digits: 0 },
  ],
  async measure(rig, { rounds, scale }) {
    const kinds = new Map<string, (rig: Rig, scale: number) => Promise<Figures>>([
      ['nothing compiled', startUncompiled],
      ['compiled before', startCompiled],
      ['after kill -9', startAfterKill],
    ])
    const byKind = new Map<string, Figures[]>([...kinds.keys()].map((kind) => [kind, []]))
    for (let round = 0; round < rounds; round += 1)
      for (const [kind, measure] of kinds) byKind.get(kind)?.push(await measure(rig, scale))
    return [summarise({ name: 'gateway', rounds, comparisons: [] }, byKind)]
  },
}

async function startUncompiled({ tallygate }: Rig): Promise<Figures> {
  await tallygate.stopGateway()
  return { readyMs: await tallygate.startGateway({ NODE_DISABLE_COMPILE_CACHE: '1' }) }
}

async function startCompiled(rig: Rig, scale: number): Promise<Figures> {
  const { tallygate } = rig
  await tallygate.stopGateway()
  const readyMs = await tallygate.startGateway()
  await delay(IDLE_MS * scale)
  const idle = memoryOf(tallygate.gatewayPid)
  const { after } = await rig.run(tallygate.target, jsonShape(1), scaled(scale))
  return {
    readyMs,
    rssMb: idle?.rssMb ?? null,
    pssMb: idle?.pssMb ?? null,
    rssLoadedMb: after?.rssMb ?? null,
    pssLoadedMb: after?.pssMb ?? null,
  }
}

async function startAfterKill(rig: Rig, scale: number): Promise<Figures> {
  const { tallygate } = rig
  await tallygate.stopWorker()
  const { calls } = await rig.runUncounted(jsonShape(1), scaled(scale))
  await tallygate.killGateway()
  const logged = statSync(tallygate.gatewayLog).size
  const startedMs = performance.now()
  const readyMs = await tallygate.startGateway()
  let adopted = 0
  const areAdopted = () => {
    adopted = adoptedIn(tallygate.gatewayLog, logged)
    return adopted >= calls ? true : null
  }
  await until(areAdopted, { timeoutMs: ADOPTED_WITHIN_MS, everyMs: 10 })
  if (adopted !== calls) throw new Error(`the gateway adopted ${adopted} in place of ${calls} records`)
  const adoptedMs = performance.now() - startedMs
  await tallygate.startWorker()
  await tallygate.count.check()
  return { readyMs, adoptedMs, countedMs: performance.now() - startedMs, adopted }
}

function scaled(scale: number) {
  return { ...CALLS, calls: CALLS.calls * scale }
}

/** The records that the gateway says it adopted, in what it logged behind `offset`. */
function adoptedIn(logFile: string, offset: number): number {
  const lines = readFileSync(logFile).subarray(offset).toString('utf8').split('\n')
  return lines
    .filter((line) => line.includes('"adoption.done"'))
    .reduce((sum, line) => sum + Number(Object(JSON.parse(line)).records), 0)
}
