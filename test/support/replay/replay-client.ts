import { request as httpRequest } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { WebSocket } from 'ws'
import type { ReplayCase } from './replay-cases.ts'
import { CASE_HEADER } from './replay-upstream.ts'

/** What a client got for one case. */
export interface Replayed {
  readonly callId: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Bytes as they came; a WebSocket's messages with an LF behind each. */
  readonly body: Buffer
}

/** Plays the case numbered `number` through the gateway at `baseUrl`. */
export async function replay(
  baseUrl: string,
  key: string,
  number: number,
  replayCase: ReplayCase,
): Promise<Replayed> {
  const headers = { authorization: `Bearer ${key}`, [CASE_HEADER]: `${number}` }
  return replayCase.webSocket
    ? await replaySession(baseUrl, headers, replayCase)
    : await replayRequest(baseUrl, headers, replayCase)
}

async function replayRequest(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  { method, pathAndQuery, request }: ReplayCase,
): Promise<Replayed> {
  const { hostname, port } = new URL(baseUrl)
  const { promise, resolve, reject } = Promise.withResolvers<Replayed>()
  const sent = httpRequest(
    {
      hostname,
      port,
      method,
      // Not through a URL object: the path goes as it is written.
      path: new URL(baseUrl).pathname + pathAndQuery,
      headers: request === null ? headers : { ...headers, 'content-type': 'application/json' },
    },
    (response) => {
      buffer(response).then(
        (body) =>
          resolve({
            callId: `${response.headers['x-tallygate-call-id']}`,
            status: response.statusCode ?? 0,
            headers: response.headers,
            body,
          }),
        reject,
      )
    },
  )
  sent.on('error', reject)
  sent.end(request === null ? undefined : JSON.stringify(request))
  return await promise
}

async function replaySession(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  { pathAndQuery, said }: ReplayCase,
): Promise<Replayed> {
  const { promise, resolve, reject } = Promise.withResolvers<Replayed>()
  const session = new WebSocket(baseUrl.replace(/^http/, 'ws') + pathAndQuery, { headers })
  const messages: string[] = []
  let callId = ''
  session.on('upgrade', (response) => {
    callId = `${response.headers['x-tallygate-call-id']}`
  })
  session.on('open', () => {
    if (said !== null) session.send(said)
  })
  session.on('message', (bytes) => messages.push(`${bytes.toString()}\n`))
  session.on('close', () =>
    resolve({ callId, status: 101, headers: {}, body: Buffer.from(messages.join('')) }),
  )
  session.on('error', reject)
  return await promise
}
