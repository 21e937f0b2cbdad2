import { openSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * A model provider with a ledger of its own: one line when a request is there, `got <number>`, and one when all of its
 * answer was handed to the socket, `done <number> <input> <output> <service microseconds>`.
 *
 *     node bench/chaos/upstream.ts <ledger file>
 *
 * Writes its port to its standard output; a request says in `metadata.chaos` which tokens it is to use.
 */
interface Asked {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly metadata: { readonly chaos: readonly [number: number, input: number, output: number] }
}

const FIRST_BYTE_MAX_MS = 40
const BETWEEN_EVENTS_MAX_MS = 15
const WORDS = ['a', 'b', 'c']

const ledger = openSync(process.argv[2] ?? '', 'a')

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy()) // the gateway hung up
})
server.keepAliveTimeout = 30_000
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  request.setEncoding('utf8')
  for await (const chunk of request) body += chunk
  if (request.method === 'GET') {
    json(response, { object: 'list', data: [] })
    return
  }
  const startedAt = performance.now()
  const asked: Asked = JSON.parse(body)
  const [number, input, output] = asked.metadata.chaos
  writeSync(ledger, `got ${number}\n`)
  await delay(Math.random() * FIRST_BYTE_MAX_MS)
  const isChat = request.url?.endsWith('/chat/completions') === true
  if (asked.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of isChat ? chatEvents(asked) : messageEvents(asked)) {
      response.write(event)
      await delay(Math.random() * BETWEEN_EVENTS_MAX_MS)
    }
    response.end()
  } else {
    json(response, {
      id: `r${number}`,
      model: asked.model,
      ...(isChat ? { choices: [], usage: chatUsage(asked) } : { content: [], usage: messageUsage(asked) }),
    })
  }
  const serviceUs = Math.round((performance.now() - startedAt) * 1_000)
  writeSync(ledger, `done ${number} ${input} ${output} ${serviceUs}\n`)
}

function chatEvents(asked: Asked): string[] {
  const event = (fields: object) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: asked.model, ...fields })}\n\n`
  const words = WORDS.map((content) => event({ choices: [{ index: 0, delta: { content } }] }))
  const wantsUsage = asked.stream_options?.include_usage === true
  return [
    ...words,
    ...(wantsUsage ? [event({ choices: [], usage: chatUsage(asked) })] : []),
    'data: [DONE]\n\n',
  ]
}

function messageEvents(asked: Asked): string[] {
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const { input_tokens, output_tokens } = messageUsage(asked)
  return [
    event('message_start', { message: { model: asked.model, usage: { input_tokens, output_tokens: 1 } } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'hello' } }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens } }),
    event('message_stop', {}),
  ]
}

function chatUsage({ metadata: { chaos } }: Asked) {
  const [, input, output] = chaos
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function messageUsage({ metadata: { chaos } }: Asked) {
  const [, input, output] = chaos
  return { input_tokens: input, output_tokens: output }
}

function json(response: ServerResponse, value: object): void {
  const text = JSON.stringify(value)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
