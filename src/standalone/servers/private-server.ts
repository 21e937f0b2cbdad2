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
  /** Asks it to finish its work, then stops it with increasing force. May be called again. */
  stop(graceMs?: number): Promise<void>
}

/** Thrown when another process took the port first. */
export class PortTaken extends Error {}

/** Starts on `port`, or on a free one, and tries others when one is taken meanwhile. */
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
