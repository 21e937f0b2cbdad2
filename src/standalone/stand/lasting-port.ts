import { createSocket } from 'node:dgram'
import { whyPortIsTaken } from '../processes/free-port.ts'

/** Below the ports that tests and `npm start` choose from, and that systems give to connections. */
const LOWEST_PORT = 12_000
const HIGHEST_PORT = 19_999

/**
 * A free loopback port that stays ours while what listens there is dead. This process holds the UDP port of that number
 * until it ends: another run, which begins with that too, passes the port over, however free its TCP side looks.
 */
export async function claimLastingPort(): Promise<number> {
  while (true) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (HIGHEST_PORT - LOWEST_PORT + 1))
    if (!(await holdsUdp(port))) continue
    if ((await whyPortIsTaken('127.0.0.1', port)) === null) return port
  }
}

/** False: another process has it. */
async function holdsUdp(port: number): Promise<boolean> {
  const socket = createSocket({ type: 'udp4', reuseAddr: false })
  return await new Promise((resolve) => {
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ address: '127.0.0.1', port, exclusive: true }, () => {
      socket.unref()
      resolve(true)
    })
  })
}
