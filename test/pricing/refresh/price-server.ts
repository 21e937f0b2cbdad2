import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Stands in for the publishers of price data. */
export interface PriceServer {
  readonly url: string
  readonly requests: readonly IncomingMessage[]
  /** From now on. */
  answer(how: (request: IncomingMessage, response: ServerResponse) => void): void
  /** The same, for a text. */
  answerText(text: string): void
  stop(): Promise<void>
}

export async function startPriceServer(): Promise<PriceServer> {
  const requests: IncomingMessage[] = []
  let how: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.writeHead(404).end()
  const server = createServer((request, response) => {
    requests.push(request)
    response.on('error', () => {})
    how(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/prices/data.json`,
    requests,
    answer(given) {
      how = given
    },
    answerText(text) {
      how = (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
