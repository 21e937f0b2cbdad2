import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Stands in for a receiver of alerts. */
export interface TestReceiver {
  readonly url: string
  /** All that was sent, in its order. */
  readonly received: readonly ReceivedAlert[]
  /** From now on; by default 200. */
  answer(how: (alert: ReceivedAlert, response: ServerResponse) => void): void
  stop(): Promise<void>
}

export interface ReceivedAlert {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export async function startReceiver(): Promise<TestReceiver> {
  const received: ReceivedAlert[] = []
  let how = (_: ReceivedAlert, response: ServerResponse): void => void response.writeHead(200).end('ok')
  const server = createServer(async (request, response) => {
    request.setEncoding('utf8')
    let body = ''
    for await (const piece of request) body += piece
    const alert = { method: request.method ?? '', headers: request.headers, body }
    received.push(alert)
    response.on('error', () => {})
    how(alert, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/alerts`,
    received,
    answer(given) {
      how = given
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** An answer of this status. */
export const status = (code: number) => (_: ReceivedAlert, response: ServerResponse) =>
  void response.writeHead(code, { location: 'http://127.0.0.1:1/elsewhere' }).end()
