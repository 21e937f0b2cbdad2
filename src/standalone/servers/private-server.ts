import { type DetachedProcess, stopDetached } from '../processes/detached-process.ts'
import { findFreePort } from '../processes/free-port.ts'

/** A real server of our own on a loopback port, its data in a folder of ours. */
export interface PrivateServer {
  /** Connection URL with its password. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Resolves once the server process is gone, with how it ended. */
  readonly ended: Promise<string>
  readonly running: boolean
  /** Lets it finish what it does, then less and less patiently. Fine to call again. */
  stop(graceMs?: number): Promise<void>
}

/** What starting may fail with when somebody else took the port first. */
export class PortTaken extends Error {}

/** Starts on `port`, or, where none is wanted, on a free one, trying others when one is taken in between. */
export async function startOnFreePort<T>(
  port: number | undefined,
  start: (port: number) => Promise<T>,
): Promise<T> {
  if (port !== undefined) return await start(port)
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await findFreePort())
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === 5) throw error
    }
  }
}

/** A server whose process runs and which answers, as a `PrivateServer`. */
export function asPrivateServer(
  server: DetachedProcess,
  at: { readonly url: string; readonly port: number },
  politely: NodeJS.Signals,
): PrivateServer {
  server.release()
  return {
    ...at,
    pid: server.pid,
    ended: server.ended,
    get running() {
      return server.running
    },
    async stop(graceMs = 20_000) {
      await stopDetached(server, [{ signal: politely, graceMs }])
    },
  }
}
