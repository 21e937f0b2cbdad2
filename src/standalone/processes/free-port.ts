import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections (from 32,768 on Linux, 49,152 elsewhere): a server that is
 * started again must find its port free, and any program's connection might have taken one of those.
 */
const LOWEST_PORT = 20_000
const HIGHEST_PORT = 32_700
const TRIES = 100

/** Those found or kept. Nothing may listen on one yet when the next is asked for. */
const promised = new Set<number>()

/** Keeps `findFreePort` from what a listener of this process's own will take later. */
export function keepPort(port: number): void {
  promised.add(port)
}

/**
 * A loopback port that was free a moment ago, and another one each time. Another process may take it first: callers try
 * again then.
 */
export async function findFreePort(): Promise<number> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT)
    if (promised.has(port)) continue
    promised.add(port)
    if ((await whyPortIsTaken('127.0.0.1', port)) === null) return port
    promised.delete(port)
  }
  throw new Error(
    `no loopback port to listen on: ${TRIES} between ${LOWEST_PORT} and ${HIGHEST_PORT} are taken`,
  )
}

/** Tells whether something else already listens on this address; null: it is free. */
export async function whyPortIsTaken(host: string, port: number): Promise<string | null> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}
