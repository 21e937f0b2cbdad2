import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request as the upstream got it. */
export interface UpstreamRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

/** An upstream whose answers a test writes, and which keeps what it was asked. */
export interface TestUpstream {
  readonly url: string
  readonly requests: UpstreamRequest[]
  readonly server: Server
  /** How the next requests are answered, from now on. */
  answer(handler: UpstreamHandler): void
  close(): Promise<void>
}

export type UpstreamHandler = (request: UpstreamRequest, response: ServerResponse) => void | Promise<void>

export async function startUpstream(handler: UpstreamHandler = chatAnswer): Promise<TestUpstream> {
  let answering = handler
  const requests: UpstreamRequest[] = []
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming).catch(() => Buffer.alloc(0))
    const { method = '', url = '', headers, rawHeaders } = incoming
    const request = { method, url, headers, rawHeaders, body }
    if (method === 'GET' && url === '/v1/models') {
      // The gateway fetches it in the background: no call of a client's.
      json(response, 200, { object: 'list', data: MODELS })
      return
    }
    requests.push(request)
    await answering(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    server,
    answer(next) {
      answering = next
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** What the upstream's own `/v1/models` lists. */
export const MODELS = [
  { id: 'gpt-4o-mini', object: 'model', created: 1_721_172_741, owned_by: 'system' },
  { id: 'gpt-4o', object: 'model', created: 1_715_367_049, owned_by: 'system' },
]

/** The usage that {@link chatAnswer} reports. */
export const CHAT_USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** A chat completion of gpt-4o-mini, streamed when asked for. */
export const chatAnswer: UpstreamHandler = (request, response) => {
  const asked = parse(request.body)
  if (asked.stream !== true) {
    json(response, 200, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'gpt-4o-mini',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there.' }, finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    })
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of ['Hello', ' there', '.'])
    response.write(event({ choices: [{ index: 0, delta: { content } }] }))
  const options = asked.stream_options
  if (isObject(options) && options.include_usage === true) {
    response.write(event({ choices: [], usage: CHAT_USAGE }))
  }
  response.end('data: [DONE]\n\n')
}

/** One event of a chat stream. */
export function event(fields: object): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'gpt-4o-mini', ...fields })}\n\n`
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
