import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { chatAnswer, json, type UpstreamHandler } from '../support/upstream.ts'

/** An upstream that fails in every way, on a port that stays its own. It takes one key. */
export interface FailingUpstream {
  readonly url: string
  /** The key that it takes. */
  key: string
  /** How the next calls are answered that have it. */
  answer: UpstreamHandler
  /** The answer to one with another key. */
  refuse: (response: ServerResponse, key: string) => void
  /** Takes no connections, and breaks off those it has. */
  close(): Promise<void>
  open(): Promise<void>
  /** Goes on under TLS, with a certificate of an authority that is not trusted by default, or without. */
  serve(how: 'https' | 'http'): Promise<void>
}

const TLS = 'test/fixtures/tls/upstream'
/** Signs the certificate of the upstream. */
export const AUTHORITY = `${TLS}/authority.pem`

/** Providers show parts of the key. */
export const shownPart = (key: string) => `${key.slice(0, 8)}***${key.slice(-4)}`

const refuseAsOpenAi = (response: ServerResponse, key: string) =>
  json(response, 401, {
    error: { message: `Incorrect API key provided: ${shownPart(key)}`, code: 'invalid_api_key' },
  })

export async function startFailingUpstream(port: number, key: string): Promise<FailingUpstream> {
  let server: Server | TlsServer = createServer()
  const listener = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(incoming).catch(() => Buffer.alloc(0))
    const { method = '', url = '', headers, rawHeaders } = incoming
    const given = String(headers.authorization ?? '').replace(/^Bearer /, '')
    if (given !== upstream.key) {
      upstream.refuse(response, given)
      return
    }
    if (url.endsWith('/models')) {
      json(response, 200, { object: 'list', data: [{ id: 'gpt-4o-mini' }] })
      return
    }
    await upstream.answer({ method, url, headers, rawHeaders, body }, response)
  }
  const listen = async (next: Server | TlsServer) => {
    server = next
    server.on('request', listener)
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  }
  const upstream: FailingUpstream = {
    url: `http://127.0.0.1:${port}`,
    key,
    answer: chatAnswer,
    refuse: refuseAsOpenAi,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
    open: () => listen(createServer()),
    async serve(how) {
      await upstream.close()
      await listen(
        how === 'http'
          ? createServer()
          : createTlsServer({ cert: readFileSync(`${TLS}/good.pem`), key: readFileSync(`${TLS}/key.pem`) }),
      )
    },
  }
  await upstream.open()
  return upstream
}
