import type { DataFolder } from './data-folder/data-folder.ts'
import type { ProcessRegistry } from './data-folder/leftovers.ts'
import { type NodeProcess, startNode } from './processes/node-process.ts'
import { type Run, type Supervised, supervise } from './processes/supervise.ts'
import type { PrivateServer } from './servers/private-server.ts'

/**
 * The services of one machine, in the order in which they are stopped: those that take calls first, those
 * that keep data last.
 */
const SERVICES = ['gateway', 'worker', 'demo upstream', 'redis', 'postgres'] as const
export type Service = (typeof SERVICES)[number]

const STOP_GRACE_MS = 10_000
const FORCED_GRACE_MS = 1_000

/** The processes of one machine, kept running until they are stopped. */
export interface Services {
  /**
   * Starts a service and keeps it running.
   * @throws What its first start throws.
   */
  start(service: Service, start: (givenUp: AbortSignal) => Promise<Run>): Promise<void>
  /**
   * The same for a server, which is restarted on the same port, since others know its URL. Returns that URL.
   */
  startServer(
    service: Service,
    start: (port: { readonly port?: number }) => Promise<PrivateServer>,
  ): Promise<string>
  /** Starts one run of our own program, for `keep`, with a log named like the service. */
  startNode(
    service: Service,
    script: string,
    env: NodeJS.ProcessEnv,
    args?: readonly string[],
  ): Promise<NodeProcess>
  logFile(service: Service): string
  has(service: Service): boolean
  /** A service that does not run is stopped already. */
  stop(service: Service, graceMs?: number): Promise<void>
  stopAll(): Promise<void>
  /** Turns a stop in progress into a forced one. That is safe: every service survives a kill. */
  forceStop(): void
  readonly isForced: boolean
}

/** @param givenUp ends first starts under way */
export function createServices(
  folder: DataFolder,
  registry: ProcessRegistry,
  say: (line: string) => void,
  givenUp: AbortSignal,
): Services {
  const running = new Map<Service, Supervised>()
  let isForced = false

  const services: Services = {
    get isForced() {
      return isForced
    },
    has: (service) => running.has(service),
    logFile(service) {
      folder.folder('logs')
      return folder.file('logs', `${service.replace(' ', '-')}.log`)
    },
    async start(service, start) {
      const onStarted = (pid: number) => registry.record(service, pid)
      running.set(service, await supervise({ name: service, start, onStarted, say }, givenUp))
    },
    async startServer(service, start) {
      const at: { url: string; port?: number } = { url: '' }
      await services.start(service, async () => {
        const server = await start(at.port === undefined ? {} : { port: at.port })
        at.url = server.url
        at.port = server.port
        return server
      })
      return at.url
    },
    startNode: (service, script, env, args = []) =>
      startNode({ script, args, env, logFile: services.logFile(service) }),
    async stop(service, graceMs = STOP_GRACE_MS) {
      await running.get(service)?.stop(isForced ? Math.min(graceMs, FORCED_GRACE_MS) : graceMs)
      running.delete(service)
    },
    async stopAll() {
      for (const service of SERVICES) await services.stop(service)
    },
    forceStop() {
      isForced = true
      for (const service of ['gateway', 'worker', 'demo upstream'] as const)
        void running.get(service)?.stop(0)
    },
  }
  return services
}
