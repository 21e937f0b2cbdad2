import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A minimal balancer. Connections go in turn to the ports whose `/readyz` said yes at the last check, and to
 * the next one where a connection is refused.
 */
export interface Balancer {
  readonly port: number
  close(): Promise<void>
}

const CHECK_EVERY_MS = 250
const CHECK_TIMEOUT_MS = 2_000

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  const ready = new Set(ports)
  let turn = 0
  const checking = setInterval(() => {
    for (const port of ports) {
      const url = `http://127.0.0.1:${port}/readyz`
      fetch(url, { signal: AbortSignal.timeout(CHECK_TIMEOUT_MS), headers: { connection: 'close' } }).then(
        (answer) => (answer.ok ? ready.add(port) : ready.delete(port)),
        () => ready.delete(port),
      )
    }
  }, CHECK_EVERY_MS)

  function serve(client: Socket, triesLeft: number): void {
    turn += 1
    const choice = ready.size > 0 ? [...ready] : ports
    const server = connect({ port: choice[turn % choice.length] ?? 0, host: '127.0.0.1', noDelay: true })
    const next = () => {
      if (triesLeft > 0) serve(client, triesLeft - 1)
      else client.destroy()
    }
    server.once('error', next)
    server.once('connect', () => {
      server.off('error', next)
      server.on('error', () => client.resetAndDestroy())
      server.on('close', () => client.destroy())
      client.on('error', () => server.resetAndDestroy())
      client.on('close', () => server.destroy())
      client.pipe(server)
      server.pipe(client)
    })
  }

  const listener = createServer({ noDelay: true }, (client) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    client.on('error', () => {}) // 'close' follows
    serve(client, ports.length - 1)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    async close() {
      clearInterval(checking)
      for (const client of open) client.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
