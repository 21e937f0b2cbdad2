import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import type { ReplayCase } from './replay-cases.ts'

/** The header by which a client says what is to be answered; the gateway passes it on. */
export const CASE_HEADER = 'x-replay-case'

/** An upstream that answers what was once answered. */
export interface ReplayUpstream {
  readonly url: string
  /** The body of the last request for each case. */
  readonly asked: ReadonlyMap<string, Buffer>
  close(): Promise<void>
}

export async function startReplayUpstream(cases: readonly ReplayCase[]): Promise<ReplayUpstream> {
  const byNumber = new Map(cases.map((replayCase, number) => [`${number}`, replayCase]))
  const asked = new Map<string, Buffer>()
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true })
  const caseOf = (request: IncomingMessage) => byNumber.get(`${request.headers[CASE_HEADER]}`)

  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const found = caseOf(request)
    if (found === undefined || found.pathAndQuery !== request.url) {
      response.writeHead(404).end('{}')
      return
    }
    asked.set(found.id, body)
    await answer(found, response)
  })
  server.on('upgrade', (request, socket, head) => {
    const found = caseOf(request)
    if (found === undefined || !found.webSocket) {
      socket.destroy()
      return
    }
    sockets.handleUpgrade(request, socket, head, async (session) => {
      if (found.said !== null) await once(session, 'message')
      for (const message of messagesOf(found)) session.send(message)
      session.close(1000)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The text messages of a WebSocket case. */
export function messagesOf({ body }: ReplayCase): readonly string[] {
  return body
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
}

async function answer(replayed: ReplayCase, response: ServerResponse): Promise<void> {
  const { status, headers, body, writeBytes } = replayed
  const asSent: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    asSent[name] = typeof value === 'string' ? value : [...value]
  }
  if (writeBytes === null) {
    response.writeHead(status, asSent)
    response.end(body)
    return
  }
  response.socket?.setNoDelay(true)
  response.writeHead(status, asSent)
  let at = 0
  for (const bytes of writeBytes) {
    response.write(body.subarray(at, at + bytes))
    at += bytes
    // Each write its own packet: the gateway reads the pieces that were once read.
    await nextTurn()
  }
  response.end(body.subarray(at))
}
