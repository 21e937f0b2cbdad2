import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** The figures of every answer that reports some. */
export const REPORTED = { input: 11, output: 7, embedded: 5 }
export const TEXT = 'Hello there.'
/** What a prompt asks for: a tool's call in the answer, or that the answer breaks off. */
export const ASKS_FOR_TOOL = 'What time is it in Paris?'
export const ASKS_TO_BREAK = 'Please hang up.'
/** The AI SDK asks again where an answer breaks off in its first 50 ms, so an end near that would be a race. */
const BREAKS_AFTER_MS = 250
export const UNKNOWN_MODEL = 'no-such-model'
export const TOOL = { name: 'get_time', arguments: { city: 'Paris' } }

export type Refusal = 'wrong_key' | 'spent' | 'no_model'

/** Tokens that an answer reported, as the gateway has to count them. */
export interface Reported {
  readonly model: string
  readonly input: number
  readonly output: number
}

/** A request as a provider got it. */
export interface Asked {
  readonly provider: string
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** Of the JSON of its body; `{}` where it is none. */
  readonly json: Record<string, unknown>
  status: number
  reported: Reported | null
}

/** How a stand-in of a provider answers. */
export interface Family {
  /** An error of the provider's own, in its shape. */
  refuse(refusal: Refusal, asked: Asked, answer: Answer): void
  answer(asked: Asked, answer: Answer): void
}

/** The answer to one request. */
export class Answer {
  readonly #response: ServerResponse
  readonly #asked: Asked

  constructor(asked: Asked, response: ServerResponse) {
    this.#asked = asked
    this.#response = response
  }

  /** Says what the answer reports of its tokens. */
  reports(model: string, input = REPORTED.input, output = REPORTED.output): this {
    this.#asked.reported = { model, input, output }
    return this
  }

  json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.bytes(status, 'application/json', JSON.stringify(body), headers)
  }

  bytes(
    status: number,
    type: string,
    body: string | Buffer,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.#asked.status = status
    this.#response.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      ...headers,
    })
    this.#response.end(body)
  }

  /** One piece after the other. One that is asked to break off has the first two, and then its connection is cut. */
  stream(type: string, pieces: readonly (string | Buffer)[]): void {
    this.#asked.status = 200
    const breaks = this.#asked.body.includes(ASKS_TO_BREAK)
    this.#response.writeHead(200, { 'content-type': type })
    if (!breaks) {
      for (const piece of pieces) this.#response.write(piece)
      this.#response.end()
      return
    }
    this.#asked.reported = null
    this.#response.write(Buffer.concat(pieces.slice(0, 2).map((piece) => Buffer.from(piece))))
    setTimeout(() => this.#response.destroy(), BREAKS_AFTER_MS)
  }
}

/** Server-sent events, each with its data as JSON; named where it has a `type`. */
export function sse(documents: readonly unknown[], isNamed = false): string[] {
  return documents.map((document) => {
    const name = isNamed ? `event: ${(document as { type: string }).type}\n` : ''
    return `${name}data: ${JSON.stringify(document)}\n\n`
  })
}

export interface RunningProvider {
  readonly name: string
  readonly url: string
  close(): Promise<void>
}

/** Keys of one provider. No other takes them. */
export const keysOf = (provider: string) => ({
  direct: `sk-direct-${provider}`,
  spent: `sk-spent-${provider}`,
  gateway: `sk-gateway-${provider}`,
})

/** Starts one provider on a port of its own. What it is asked goes into `seen`. */
export async function startProvider(
  provider: string,
  family: Family,
  seen: (asked: Asked) => void,
): Promise<RunningProvider> {
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming).catch(() => Buffer.alloc(0))
    const { method = '', url = '', headers } = incoming
    const asked: Asked = {
      provider,
      method,
      url: new URL(url, `http://${headers.host}`),
      headers,
      body,
      json: parse(body),
      status: 0,
      reported: null,
    }
    // Pages are answered as OpenAI does.
    if (headers.origin !== undefined) response.setHeader('access-control-allow-origin', '*')
    if (method === 'OPTIONS') {
      response
        .writeHead(204, { 'access-control-allow-headers': '*', 'access-control-allow-methods': '*' })
        .end()
      return
    }
    seen(asked)
    const answer = new Answer(asked, response)
    const refusal = refusalOf(asked)
    if (refusal === null) family.answer(asked, answer)
    else family.refuse(refusal, asked, answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    name: provider,
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refusalOf({ provider, url, headers, body }: Asked): Refusal | null {
  // An address that was given for one upload is its own credential.
  if (url.searchParams.has('upload_id')) return null
  const keys = keysOf(provider)
  const sent = [
    headers.authorization?.replace(/^Bearer /, ''),
    // A signature's id stands for its key.
    /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1],
    headers['x-api-key'],
    headers['x-goog-api-key'],
    url.searchParams.get('key'),
  ]
  if (sent.includes(keys.spent)) return 'spent'
  if (!sent.includes(keys.direct) && !sent.includes(keys.gateway)) return 'wrong_key'
  return url.pathname.includes(UNKNOWN_MODEL) || body.includes(`"${UNKNOWN_MODEL}"`) ? 'no_model' : null
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
