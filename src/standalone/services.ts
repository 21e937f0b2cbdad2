import type { DataFolder } from './data-folder/data-folder.ts'
import type { ProcessNotes } from './data-folder/leftovers.ts'
import { type NodeProcess, startNode } from './processes/node-process.ts'
import { type Run, type Supervised, supervise } from './processes/supervise.ts'
import type { PrivateServer } from './servers/private-server.ts'

/** What a machine is made of, in the order in which it is stopped: who takes calls first, who keeps data last. */
const PARTS = ['gateway', 'worker', 'demo upstream', 'redis', 'postgres'] as const
export type Part = (typeof PARTS)[number]

const STOP_GRACE_MS = 10_000
const HURRIED_GRACE_MS = 1_000

/** The processes of one machine, kept running until they are stopped. */
export interface Parts {
  /** Starts a part and keeps it running. @throws what its first start throws */
  keep(part: Part, start: (givenUp: AbortSignal) => Promise<Run>): Promise<void>
  /** The same for a server, which is started again on the port it had: others know its URL, given back here. */
  keepServer(part: Part, start: (port: { readonly port?: number }) => Promise<PrivateServer>): Promise<string>
  /** Starts one run of a program of ours, for `keep`, with a log named like the part. */
  startNode(
    part: Part,
    script: string,
    env: NodeJS.ProcessEnv,
    args?: readonly string[],
  ): Promise<NodeProcess>
  logFile(part: Part): string
  has(part: Part): boolean
  /** A part that does not run is stopped already. */
  stop(part: Part, graceMs?: number): Promise<void>
  stopAll(): Promise<void>
  /** Makes a stop under way quick and rough. Safe: every part is made to survive worse. */
  hurry(): void
  readonly hurried: boolean
}

/** @param givenUp ends first starts under way */
export function createParts(
  folder: DataFolder,
  notes: ProcessNotes,
  say: (line: string) => void,
  givenUp: AbortSignal,
): Parts {
  const running = new Map<Part, Supervised>()
  let hurried = false

  const parts: Parts = {
    get hurried() {
      return hurried
    },
    has: (part) => running.has(part),
    logFile(part) {
      folder.folder('logs')
      return folder.file('logs', `${part.replace(' ', '-')}.log`)
    },
    async keep(part, start) {
      const onStarted = (pid: number) => notes.note(part, pid)
      running.set(part, await supervise({ name: part, start, onStarted, say }, givenUp))
    },
    async keepServer(part, start) {
      const at: { url: string; port?: number } = { url: '' }
      await parts.keep(part, async () => {
        const server = await start(at.port === undefined ? {} : { port: at.port })
        at.url = server.url
        at.port = server.port
        return server
      })
      return at.url
    },
    startNode: (part, script, env, args = []) =>
      startNode({ script, args, env, logFile: parts.logFile(part) }),
    async stop(part, graceMs = STOP_GRACE_MS) {
      await running.get(part)?.stop(hurried ? Math.min(graceMs, HURRIED_GRACE_MS) : graceMs)
      running.delete(part)
    },
    async stopAll() {
      for (const part of PARTS) await parts.stop(part)
    },
    hurry() {
      hurried = true
      for (const part of ['gateway', 'worker', 'demo upstream'] as const) void running.get(part)?.stop(0)
    },
  }
  return parts
}
