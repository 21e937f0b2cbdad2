import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The smallest balancer there is: connections in turn, and to the next port where one does not listen. */
export interface Balancer {
  readonly port: number
  close(): Promise<void>
}

export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>()
  let turn = 0

  function serve(client: Socket, triesLeft: number): void {
    turn += 1
    const server = connect({ port: ports[turn % ports.length] ?? 0, host: '127.0.0.1', noDelay: true })
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
      for (const client of open) client.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
