import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy on loopback that misbehaves on demand. */
export interface FaultProxy {
  readonly port: number
  /** How many connections, or pieces of what they carry, its misbehaviour has met so far. */
  readonly met: number
  /** Resets this share of the connections that are open. */
  cut(share: number, drawn: () => number): void
  /** From now on every piece of data is this late, in both directions; 0: as it comes. */
  delay(ms: number): void
  /** Accepts, keeps what it has, passes nothing on: as a network that lost its route. */
  stall(): void
  /** Passes on what was kept since `stall`. */
  resume(): void
  /** From now on requests get through and their answers do not. */
  loseAnswers(): void
  /** Answers get through again; the connections that missed some are reset. */
  endLosingAnswers(): void
  /** Whether what new connections send is also sent to the server on a second one, whose answers are not read. */
  duplicate(on: boolean): void
  close(): Promise<void>
}

interface Connection {
  readonly client: Socket
  readonly server: Socket
  missedAnswers: boolean
}

export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const open = new Set<Connection>()
  let delayMs = 0
  let stalled = false
  let losing = false
  let duplicating = false
  let met = 0

  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    const twin = duplicating ? connect({ port: targetPort, host: '127.0.0.1' }) : null
    const connection: Connection = { client, server, missedAnswers: false }
    open.add(connection)
    const end = () => {
      open.delete(connection)
      client.destroy()
      server.destroy()
      twin?.destroy()
    }
    for (const socket of [client, server]) {
      socket.on('error', end)
      socket.on('close', end)
    }
    twin?.on('error', () => twin.destroy())
    twin?.resume()
    client.on('data', (data) => {
      pass(client, server, data)
      if (twin?.writable) {
        met += 1
        twin.write(data)
      }
    })
    server.on('data', (data) => {
      if (losing) connection.missedAnswers = true
      if (!connection.missedAnswers) pass(server, client, data)
      else met += 1
    })
    client.on('end', () => server.end())
    server.on('end', () => client.end())
    if (stalled) pause(connection)
  })

  /** What is late, by the socket it goes to: whichever timer ends first, the oldest piece goes first. */
  const late = new WeakMap<Socket, Buffer[]>()

  function pass(from: Socket, to: Socket, data: Buffer): void {
    const waiting = late.get(to) ?? []
    late.set(to, waiting)
    if (delayMs === 0 && waiting.length === 0) {
      write(from, to, data)
      return
    }
    met += 1
    waiting.push(data)
    setTimeout(() => {
      const next = waiting.shift()
      if (next !== undefined) write(from, to, next)
    }, delayMs)
  }

  function write(from: Socket, to: Socket, data: Buffer): void {
    if (!to.writable || to.write(data)) return
    from.pause()
    to.once('drain', () => {
      if (!stalled) from.resume()
    })
  }

  function pause({ client, server }: Connection): void {
    met += 1
    client.pause()
    server.pause()
  }

  const reset = ({ client, server }: Connection) => {
    met += 1
    client.resetAndDestroy()
    server.resetAndDestroy()
  }

  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    get met() {
      return met
    },
    cut(share, drawn) {
      for (const connection of open) if (drawn() < share) reset(connection)
    },
    delay(ms) {
      delayMs = ms
    },
    stall() {
      stalled = true
      for (const connection of open) pause(connection)
    },
    resume() {
      stalled = false
      for (const { client, server } of open) {
        client.resume()
        server.resume()
      }
    },
    loseAnswers() {
      losing = true
    },
    endLosingAnswers() {
      losing = false
      for (const connection of open) if (connection.missedAnswers) reset(connection)
    },
    duplicate(on) {
      duplicating = on
    },
    async close() {
      for (const connection of open) reset(connection)
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
