import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { type WebSocket, WebSocketServer } from 'ws'

/** A request as the provider got it. */
export interface Asked {
  readonly method: string
  readonly url: string
  /** Decoded, without its query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** Empty where the body is not an object of JSON. */
  readonly json: Readonly<Record<string, unknown>>
}

/** What the provider's invoice will say of one attacker. */
export interface Account {
  /** Pico-USD, and tokens of all it served. */
  pico: bigint
  tokens: number
  served: number
  /** What the dearest call costs. */
  dearestPico: bigint
  /** Requests and sessions under way, and the most that ever were. */
  running: number
  mostRunning: number
  /** Method and target of each request that was the attacker's own. */
  readonly asked: string[]
  /** Of what it made: a request without a label that names one is this account's. */
  readonly ids: Set<string>
  /** It served a call. */
  bill(usd: number, tokens?: number): void
}

export interface Script {
  readonly answer?: (asked: Asked, response: ServerResponse, account: Account) => void | Promise<void>
  readonly session?: (socket: WebSocket, account: Account) => void
  /** In place of `session`, on the bare connection. */
  readonly upgrade?: (request: IncomingMessage, socket: IncomingMessage['socket'], account: Account) => void
}

/** Says whose a request is: it goes upstream like any header of a client's. */
export const LABEL = 'x-attack'

/**
 * A provider that serves by scripts and keeps its own books. It is at one address for each name, since a gateway takes
 * each for another upstream.
 */
export interface Provider {
  readonly urls: ReadonlyMap<string, string>
  /** From now on it serves `label` so. */
  serve(label: string, script: Script): Account
  close(): Promise<void>
}

export async function startProvider(names: readonly string[]): Promise<Provider> {
  const known = new Map<string, { readonly script: Script; readonly account: Account }>()
  const find = (request: IncomingMessage) => {
    const own = known.get(String(request.headers[LABEL] ?? ''))
    if (own !== undefined) return own
    // A worker's fetch of a job, which has no label.
    const url = decodeURIComponent(request.url ?? '')
    return [...known.values()].find(({ account }) => [...account.ids].some((id) => url.includes(id)))
  }
  const sockets = new WebSocketServer({ noServer: true, maxPendingAutoPongs: 100_000 } as object)
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {})
    const body = await buffer(request).catch(() => null)
    // Its connection was closed before its last byte: it was never made.
    if (body === null) return
    const found = find(request)
    if (found === undefined) {
      sendJson(response, { object: 'list', data: [], models: [] })
      return
    }
    const { script, account } = found
    if (request.headers[LABEL] !== undefined) account.asked.push(`${request.method} ${request.url}`)
    const url = new URL(request.url ?? '/', 'http://provider')
    const { method = '', headers } = request
    const asked = { method, url: url.href, headers, body, json: parse(body), query: url.searchParams }
    begin(account)
    await Promise.resolve(
      script.answer?.({ ...asked, path: decodeURIComponent(url.pathname) }, response, account),
    ).catch(() => response.destroy())
    account.running -= 1
  }
  const servers: Server[] = []
  const urls = new Map<string, string>()
  for (const name of names) {
    const server = createServer((request, response) => void answer(request, response))
    server.on('upgrade', (request, socket, head) => {
      const found = find(request)
      if (found === undefined) return socket.destroy()
      const { script, account } = found
      account.asked.push(`GET ${request.url}`)
      begin(account)
      socket.once('close', () => {
        account.running -= 1
      })
      socket.on('error', () => {})
      if (script.upgrade !== undefined) return script.upgrade(request, socket as never, account)
      return sockets.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.on('error', () => {})
        script.session?.(webSocket, account)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    urls.set(name, `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  }
  return {
    urls,
    serve(label, script) {
      const account = openAccount()
      known.set(label, { script, account })
      return account
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate()
      for (const server of servers) server.closeAllConnections()
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

function openAccount(): Account {
  return {
    pico: 0n,
    tokens: 0,
    served: 0,
    dearestPico: 0n,
    running: 0,
    mostRunning: 0,
    asked: [],
    ids: new Set(),
    bill(usd, tokens = 0) {
      const pico = picoOf(usd)
      this.pico += pico
      this.tokens += tokens
      this.served += 1
      if (pico > this.dearestPico) this.dearestPico = pico
    },
  }
}

function begin(account: Account): void {
  account.running += 1
  account.mostRunning = Math.max(account.mostRunning, account.running)
}

export const picoOf = (usd: number) => BigInt(Math.round(usd * 1e12))
export const usdOf = (pico: bigint) => Number(pico) / 1e12

export function sendJson(response: ServerResponse, document: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}

/** A stream of events, each with its pause before it. Goes on whether or not anyone still reads. */
export async function sendEvents(
  response: ServerResponse,
  events: readonly (string | number)[],
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if (typeof event === 'number') await delay(event)
    else if (!response.destroyed) response.write(event)
  }
  response.end()
}

/** A server-sent event, with its type as its name where `named`. */
export function sse(data: object, named = false): string {
  const name = named ? `event: ${String(Object(data).type)}\n` : ''
  return `${name}data: ${JSON.stringify(data)}\n\n`
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return Object(value) as Record<string, unknown>
  } catch {
    return {}
  }
}
