import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import type { LogEvent } from '../../src/lib/log-events.ts'
import { isReady, type Stand, type StandGateway } from '../stand/stand.ts'
import { producersOpenIn } from './dead-journal.ts'

/** A gateway at a port of its own: one process, or a primary and the processes that share the port. */
export interface Gateway extends StandGateway {
  readonly logFile: string
  /** How many of its processes take calls. */
  readonly processes: number
  /** The processes that take calls now, each with the producers whose journals it has open. */
  takers(): readonly Taker[]
  /** Whether some process of it takes no calls just now, as far as several requests show. */
  refuses(): Promise<boolean>
  /** From its next start on it has so many shards. */
  useShards(shards: number): void
  /** A process that ends without having been asked to is a complaint: this one was asked, with kill -9. */
  expectDeathOf(pid: number): void
  /** Its processes and what it logged last, for a failure's message. */
  describe(): string
}

export interface Taker {
  readonly pid: number
  readonly producers: readonly string[]
}

export interface GatewayOptions {
  readonly name: string
  readonly journalDir: string
  readonly processes: number
  /** `STREAM_SHARDS` of its first start. */
  readonly shards: number
  readonly env: Readonly<Record<string, string>>
  /** Modules of this folder that are loaded first. */
  readonly preloads: readonly string[]
}

/** Connections go to the processes of a cluster in turn: so many requests for each reach all of them. */
const REQUESTS_EACH = 3
const LAST_WORDS = 20
/** The event that the primary logs when a process of its own ended, and it starts another. */
const DIED: LogEvent = 'gateway.process_died'

export async function startableGateway(stand: Stand, options: GatewayOptions): Promise<Gateway> {
  const { name, journalDir, processes } = options
  const logFile = join(stand.folder, `${name.replace(' ', '-')}.log`)
  const expected = new Set<number>()
  let { shards } = options
  const requests = processes === 1 ? 1 : processes * REQUESTS_EACH

  const child: StandGateway = await stand.gateway({
    name,
    env: () => ({
      ...options.env,
      STREAM_SHARDS: `${shards}`,
      JOURNAL_DIR: journalDir,
      GATEWAY_PROCESSES: `${processes}`,
    }),
    preloads: preloadsOf(options.preloads),
    isReady: async () => (await takesCalls()) && takers().length === processes,
  })

  function takers(): readonly Taker[] {
    return child.pids
      .map((pid) => ({ pid, producers: producersOpenIn(pid, journalDir) }))
      .filter(({ producers }) => producers.length > 0)
  }

  /** Whether all of its processes do, as far as several requests show. */
  async function takesCalls(): Promise<boolean> {
    for (let asked = 0; asked < requests; asked += 1) if (!(await isReady(child.url))) return false
    return true
  }

  /** Processes of the cluster that ended by themselves, with what was logged before. */
  function strayDeaths(): readonly string[] {
    if (processes === 1 || !existsSync(logFile)) return []
    const lines = readFileSync(logFile, 'utf8').split('\n')
    return lines.flatMap((line, at) =>
      line.includes(DIED) && !expected.has(Number(JSON.parse(line).pid))
        ? [lines.slice(Math.max(0, at - LAST_WORDS), at + 1).join('\n')]
        : [],
    )
  }

  const { unbidden } = child
  const gateway = Object.assign(child, {
    logFile,
    processes,
    takers,
    refuses: async () => !(await takesCalls()),
    useShards: (wanted: number) => {
      shards = wanted
    },
    expectDeathOf: (pid: number) => void expected.add(pid),
    describe() {
      const taking = takers().map(({ pid, producers }) => `${pid} with ${producers.length} journals`)
      return `processes ${child.pids.join(', ')}, of which take calls: ${taking.join(', ') || 'none'}; ${loadNow()}; log:\n${child.lastWords(LAST_WORDS)}`
    },
  })
  return Object.defineProperty(gateway, 'unbidden', {
    get: () => [...unbidden, ...strayDeaths().map((line) => `${name}: ${line}`)],
  })
}

/** URLs of modules of this folder, and of that which steps a process's clock: see clock.ts. */
export function preloadsOf(modules: readonly string[]): readonly string[] {
  return ['./clock.ts', ...modules].map((module) => new URL(module, import.meta.url).href)
}

/** How busy the machine is: a process that starts on a busy one takes many times as long. */
function loadNow(): string {
  return `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`
}
