import { setTimeout as delay } from 'node:timers/promises'
import { startOwnProcess } from '../../src/standalone/stand/own-process.ts'
import { cpuBetween, isolate, type Memory, memoryOf, type ProcessUse, useOf } from '../stand/proc.ts'
import { GeneratorProcess } from './load/generator-process.ts'
import type { Course, LoadResult } from './load/loads.ts'
import { jsonShape, type Shape } from './load/shapes.ts'
import { findNginx, startNginx } from './targets/nginx.ts'
import { Tallygate, type TallygateOptions } from './targets/tallygate.ts'
import type { Target } from './targets/target.ts'

/** What one run of calls to one target took. */
export interface Measured {
  readonly load: LoadResult
  /** Microseconds of CPU by process. `proxy` is the target's own; `null`: not known. */
  readonly cpuUs: Readonly<Record<string, number | null>>
  readonly before: Memory | null
  readonly after: Memory | null
}

export interface RigOptions {
  readonly peers: readonly Target[]
  /** Where peers expect their upstream; `0`: any free port. */
  readonly originPort: string
  /** Another checkout, whose gateway is measured too; `null`: none. */
  readonly beside: string | null
}

/** The target that is the gateway of another checkout. */
export const BESIDE = 'beside'
/** The target that passes bytes from socket to socket. */
export const RELAY = 'relay'

/** As many as the gateway takes until its code is compiled as after hours of calls. */
export const WARM_UP_CALLS = 60_000

/** What a call leaves to do (syncing, shipping, freeing) is part of its cost. */
const AFTERMATH_MS = 300
/** Of a slice: until most of its calls are shipped. The rest falls into the next slice, as often of one kind as of another. */
const SLICE_AFTERMATH_MS = 20

/** All processes of a run: origin, load generator, and what is measured. */
export class Rig {
  readonly targets: readonly Target[]
  readonly tallygate: Tallygate
  readonly #generator: GeneratorProcess
  readonly #origin: Target
  /** The gateways among the targets, whose calls must be counted, by name. */
  readonly #gateways: Map<string, Tallygate>

  private constructor(fields: {
    targets: readonly Target[]
    tallygate: Tallygate
    gateways: readonly Tallygate[]
    generator: GeneratorProcess
    origin: Target
  }) {
    this.targets = fields.targets
    this.tallygate = fields.tallygate
    this.#gateways = new Map(fields.gateways.map((gateway) => [gateway.name, gateway]))
    this.#generator = fields.generator
    this.#origin = fields.origin
  }

  static async start({ peers, originPort, beside }: RigOptions): Promise<Rig> {
    const generator = await GeneratorProcess.start()
    const started = await startOwnProcess('bench/overhead/load/origin.ts', { ORIGIN_PORT: originPort })
    const at = { host: '127.0.0.1', key: 'none', takesAllWires: true, keepsBytes: true }
    const origin = { ...at, name: 'origin', port: started.port, pid: started.pid }
    const plain = findNginx() === null ? [] : [await startNginx(origin.port)]
    const relay = await startOwnProcess('bench/overhead/targets/relay.ts', { ORIGIN_PORT: `${origin.port}` })
    const bare = await startOwnProcess('bench/overhead/targets/bare-proxy.ts', {
      UPSTREAM_URL: `http://127.0.0.1:${origin.port}`,
    })
    const behind = { originPort: origin.port }
    const tallygate = await startGateway({ ...behind, name: 'tallygate', checkout: process.cwd() })
    const others = beside === null ? [] : [await startGateway({ ...behind, name: BESIDE, checkout: beside })]
    const gateways = [tallygate, ...others]
    const targets = [
      origin,
      ...plain,
      { ...at, name: RELAY, port: relay.port, pid: relay.pid },
      { ...at, name: 'bare', port: bare.port, pid: bare.pid },
      ...gateways.map(({ target }) => target),
      ...peers,
    ]
    return new Rig({ targets, tallygate, gateways, generator, origin })
  }

  /** One more gateway of this checkout, with stores of its own. It is in none of `targets`. @param yaml Of its configuration. */
  async addGateway(name: string, yaml: string): Promise<Tallygate> {
    const { port: originPort } = this.#origin
    const gateway = await startGateway({ name, checkout: process.cwd(), originPort, yaml })
    this.#gateways.set(name, gateway)
    return gateway
  }

  /** Those that are measured, without those that are not asked for. */
  targetsBut(...names: readonly string[]): readonly Target[] {
    return this.targets.filter(({ name }) => !names.includes(name))
  }

  /** So that what comes first is compiled as what comes last. */
  async warmUp(calls: number): Promise<void> {
    const course = { kind: 'closed', connections: 16, calls } as const
    for (const target of this.targets) await this.run(target, jsonShape(1), course)
  }

  /**
   * Makes the calls and takes the CPU of every process from before the first call until 0.3 s after the last one; of
   * the worker and the stores until the gateway's calls are counted. Memory is taken before, and after.
   *
   * @param during done while the calls are under way
   * @throws when an answer is wrong, or the gateway has not counted exactly these calls
   */
  async run(target: Target, shape: Shape, course: Course, during = async () => {}): Promise<Measured> {
    const gateway = this.#gateways.get(target.name)
    const pid = this.pidOf(target)
    const pids = {
      proxy: target === this.#origin ? null : pid,
      generator: this.#generator.pid,
      origin: this.#origin.pid,
    }
    const behindPids =
      gateway === undefined
        ? {}
        : {
            worker: gateway.workerPid,
            postgres: gateway.stand.postgres.pid,
            redis: gateway.stand.redis.pid,
          }
    await gateway?.count.begin()
    const before = memoryFor(pid)
    const [used, usedBehind] = [usesOf(pids), usesOf(behindPids)]
    const [load] = await Promise.all([this.#generator.run(target, shape, course), during()])
    await delay(AFTERMATH_MS)
    const cpuUs = spentSince(used, pids)
    gateway?.count.expect(shape, load.calls)
    await gateway?.count.check()
    Object.assign(cpuUs, spentSince(usedBehind, behindPids))
    return { load, cpuUs, before, after: memoryFor(pid) }
  }

  /**
   * Microseconds of the target's CPU for each call of a slice, one of many in turn. Between slices that are near to each
   * other the machine changes less than between runs. A {@link Rig.run} has to follow: it checks that all are counted.
   */
  async cpuOfSlice(target: Target, shape: Shape, course: Course): Promise<number | null> {
    const gateway = this.#gateways.get(target.name)
    const pids = { proxy: this.pidOf(target) }
    await gateway?.count.begin()
    const used = usesOf(pids)
    const load = await this.#generator.run(target, shape, course)
    await delay(SLICE_AFTERMATH_MS)
    const us = spentSince(used, pids).proxy ?? null
    gateway?.count.expect(shape, load.calls)
    return us === null ? null : us / load.calls
  }

  /** Calls to the gateway that are not counted yet when this ends: {@link CallCount.check} is to follow. */
  async runUncounted(shape: Shape, course: Course): Promise<LoadResult> {
    const { count, target } = this.tallygate
    await count.begin()
    const load = await this.#generator.run(target, shape, course)
    count.expect(shape, load.calls)
    return load
  }

  /**
   * Keeps gateways from all other processes: which ones share a core with them, and when, changes the CPU of a call by far
   * more than a feature does. @returns a function that takes it back.
   */
  isolateGateways(): () => void {
    return isolate([...this.#gateways.values()].map(({ gatewayPid }) => gatewayPid))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#gateways.values()].map(({ stand }) => stand.stop()))
  }

  /** Of the process that is measured; the gateway's changes when it is started again. */
  pidOf(target: Target): number | null {
    return this.#gateways.get(target.name)?.gatewayPid ?? target.pid
  }
}

async function startGateway(options: TallygateOptions): Promise<Tallygate> {
  const gateway = await Tallygate.prepare(options)
  await gateway.startWorker()
  await gateway.startGateway()
  return gateway
}

type Pids = Readonly<Record<string, number | null>>

function usesOf(pids: Pids): Readonly<Record<string, ProcessUse | null>> {
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [name, pid === null ? null : useOf(pid)]),
  )
}

function spentSince(
  used: Readonly<Record<string, ProcessUse | null>>,
  pids: Pids,
): Record<string, number | null> {
  const now = usesOf(pids)
  return Object.fromEntries(
    Object.keys(pids).map((name) => [name, cpuBetween(used[name] ?? null, now[name] ?? null)]),
  )
}

function memoryFor(pid: number | null): Memory | null {
  return pid === null ? null : memoryOf(pid)
}
