import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { setUploadIdleTimeout } from '../../src/http/socket-timeouts.ts'

const SILENCE_MS = 100

test('an upload may be silent while the gateway wants no more of it, and no longer', async () => {
  const { setTimeout: setIdleTimeout } = Socket.prototype
  vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, onTimeout) {
    return setIdleTimeout.call(this, ms === 60_000 ? SILENCE_MS : ms, onTimeout)
  })
  let isWanted = false
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfour')
    const [request]: IncomingMessage[] = await once(server, 'request')
    if (request === undefined) throw new Error('no request')
    request.on('error', () => {})
    setUploadIdleTimeout(request, () => isWanted)
    await delay(10 * SILENCE_MS)
    expect(request.socket.destroyed).toBe(false)
    isWanted = true
    await once(client.resume(), 'close')
    expect(request.socket.destroyed).toBe(true)
  } finally {
    vi.restoreAllMocks()
    client.destroy()
    server.close()
  }
})
