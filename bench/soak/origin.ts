import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type CallKind, type CallPlan, METADATA, planCall } from './plan.ts'

/**
 * The model provider of a soak, which keeps the number of each call that reaches it. Says its port over its channel;
 * `GET /received` answers one byte a call, by number: 1 for those that came.
 */
interface Asked {
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly metadata: { readonly [METADATA]: number }
}

const EVENTS = 12
const EVENT_EVERY_MS = 25
const FILLER = 'Words that make the answer as long as answers are. '.repeat(14)

let received = new Uint8Array(1 << 16)
let length = 0

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy()) // the gateway hung up
})
// Longer than the gateway keeps a connection: it is not to meet one that is just being closed.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') {
    if (request.url === '/received') response.end(received.subarray(0, length))
    else json(response, 200, { object: 'list', data: [] })
    return
  }
  let body = ''
  request.setEncoding('utf8')
  for await (const chunk of request) body += chunk
  const asked: Asked = JSON.parse(body)
  const number = asked.metadata[METADATA]
  receive(number)
  const plan = planCall(number)
  await ANSWERS[plan.kind](response, plan, asked)
}

const ANSWERS: Readonly<
  Record<CallKind, (response: ServerResponse, plan: CallPlan, asked: Asked) => Promise<void> | void>
> = {
  json: (response, plan) => json(response, 200, wholeAnswer(plan)),
  stream: writeStream,
  'stream-unasked': writeStream,
  left: writeStream,
  limited: (response) => json(response, 429, errorOf('rate_limit_error')),
  failed: (response) => json(response, 500, errorOf('server_error')),
  async cut(response, plan) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 10_000 })
    response.write(JSON.stringify(wholeAnswer(plan)).slice(0, 300))
    await delay(EVENT_EVERY_MS)
    response.destroy()
  },
  refused: (response) => json(response, 200, {}),
}

async function writeStream(response: ServerResponse, plan: CallPlan, asked: Asked): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const event = (fields: object) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-s', object: 'chat.completion.chunk', model: plan.model, ...fields })}\n\n`
  for (let at = 0; at < EVENTS && !response.destroyed; at += 1) {
    response.write(event({ choices: [{ index: 0, delta: { content: `word ${at} ` } }] }))
    await delay(EVENT_EVERY_MS)
  }
  if (asked.stream_options?.include_usage === true)
    response.write(event({ choices: [], usage: usageOf(plan) }))
  response.end('data: [DONE]\n\n')
}

function wholeAnswer(plan: CallPlan): object {
  const message = { role: 'assistant', content: FILLER }
  return {
    id: 'chatcmpl-s',
    object: 'chat.completion',
    model: plan.model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: usageOf(plan),
  }
}

function usageOf({ input, output }: CallPlan): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function errorOf(type: string): object {
  return { error: { message: 'The upstream of a soak says no.', type, param: null, code: null } }
}

function json(response: ServerResponse, status: number, value: object): void {
  const text = JSON.stringify(value)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  response.writeHead(status, headers).end(text)
}

function receive(number: number): void {
  while (number >= received.length) {
    const larger = new Uint8Array(2 * received.length)
    larger.set(received)
    received = larger
  }
  received[number] = 1
  length = Math.max(length, number + 1)
}
