import { openSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { callNumberOf, type Order, readOrder, TARGETS } from './planned-calls.ts'

/**
 * A model provider with a ledger of its own: one line when the head of a request is there (or its
 * body, where its path has no number), `got <number>`, and one when all
 * of its answer was handed to the socket, `done <number> <input> <output> <service microseconds>`. Before usage is
 * sent, there is a line `told <number> <output>` where it is that of a stream under way, and `final <number>` where it
 * is the last. Of the targets of routes, `by <number> <place>` says which of them answers, from 0.
 *
 *     node src/standalone/prove/stand-in.ts <ledger file> [port] [host]
 *
 * Tells its parent where it listens; the prompt of a request says which tokens it is to use. The targets are ill in
 * turn until a message comes.
 */
interface Asked {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages?: unknown
}

/** A piece of a stream. */
interface Event {
  readonly text: string
  /** Output tokens so far, or all, where it has usage. */
  readonly usage?: { readonly output: number; readonly isFinal: boolean }
}

const FIRST_BYTE_MAX_MS = 40
const BETWEEN_EVENTS_MAX_MS = 15
const WORDS = ['a', 'b', 'c']
const CREATED_S = 1_760_000_000
/** Between its final usage and its end a stream takes longer: what dies then has usage that its client has seen. */
const BEFORE_END_FACTOR = 4
/** A long stream has a word so often. */
const WORD_EVERY_MS = 250

/** So long one target is ill, and then the next: longer than a call may wait for two of them. */
const TURN_MS = 15_000
type Illness = 'dies' | 'hangs' | 'lies' | 'is limited' | 'is overloaded'
/** In turn, too: as there are five for three targets, each target has each. */
const ILLNESSES: readonly Illness[] = ['dies', 'hangs', 'lies', 'is limited', 'is overloaded']
let areHealed = false

/** The answer to a prompt of others, such as a gateway's own check: it is in no ledger. */
const NO_ORDER: Order = { number: -1, input: 1, output: 1, lastsMs: 0 }

const [ledgerFile = '', wantedPort = '0', wantedHost = '127.0.0.1'] = process.argv.slice(2)
const ledger = openSync(ledgerFile, 'a')
const write = ({ number }: Order, line: string) => {
  if (number >= 0) writeSync(ledger, `${line}\n`)
}
// A test has it claim a call that no client made: who compares the books has to miss that one.
const claimed = process.env.STAND_IN_CLAIMS
if (claimed !== undefined) writeSync(ledger, `got ${claimed}\n`)

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy()) // the gateway hung up
})
server.keepAliveTimeout = 30_000
server.listen(Number(wantedPort), wantedHost, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)
process.on('disconnect', () => process.exit(0))
process.on('message', () => {
  areHealed = true
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const numbered = callNumberOf(request.url ?? '')
  if (numbered !== null) writeSync(ledger, `got ${numbered}\n`)
  let body = ''
  request.setEncoding('utf8')
  for await (const chunk of request) body += chunk
  if (request.method === 'GET') {
    json(response, { object: 'list', data: [] })
    return
  }
  const startedAt = performance.now()
  const asked: Asked = JSON.parse(body)
  const order = readOrder(asked.messages) ?? NO_ORDER
  const { number, input, output, lastsMs } = order
  if (numbered === null) write(order, `got ${number}`)
  const target = TARGETS.findIndex((name) => request.url?.startsWith(`/${name}/`))
  const illness = illnessOf(target)
  if (illness !== null) {
    fail(illness, asked, response)
    return
  }
  if (target >= 0) write(order, `by ${number} ${target}`)
  await delay(Math.random() * FIRST_BYTE_MAX_MS)
  const isChat = request.url?.endsWith('/chat/completions') === true
  if (asked.stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const maxMs = lastsMs === 0 ? BETWEEN_EVENTS_MAX_MS : 2 * WORD_EVERY_MS
    for (const { text, usage } of isChat ? chatEvents(asked, order) : messageEvents(asked, order)) {
      if (response.destroyed) return // the gateway hung up
      if (usage !== undefined)
        write(order, usage.isFinal ? `final ${number}` : `told ${number} ${usage.output}`)
      response.write(text)
      await delay(Math.random() * (usage?.isFinal === true ? BEFORE_END_FACTOR * maxMs : maxMs))
    }
    if (response.destroyed) return
    response.end()
  } else {
    write(order, `final ${number}`)
    json(response, isChat ? chatAnswer(asked, order) : messageAnswer(asked, order))
  }
  const serviceUs = Math.round((performance.now() - startedAt) * 1_000)
  write(order, `done ${number} ${input} ${output} ${serviceUs}`)
}

function chatAnswer({ model }: Asked, order: Order): object {
  const message = { role: 'assistant', content: WORDS.join(' ') }
  return {
    id: `call-${order.number}`,
    object: 'chat.completion',
    created: CREATED_S,
    model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: chatUsage(order),
  }
}

function messageAnswer({ model }: Asked, order: Order): object {
  return { id: `call-${order.number}`, model, content: [], usage: messageUsage(order) }
}

/** @returns `null`: it serves. */
function illnessOf(target: number): Illness | null {
  const turn = Math.floor(performance.now() / TURN_MS)
  return areHealed || target !== turn % TARGETS.length ? null : (ILLNESSES[turn % ILLNESSES.length] ?? null)
}

function fail(illness: Illness, { stream }: Asked, response: ServerResponse): void {
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  switch (illness) {
    case 'dies':
      response.socket?.resetAndDestroy()
      return
    case 'hangs':
      return
    case 'lies':
      if (stream !== true) {
        json(response, error)
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`event: error\ndata: ${JSON.stringify(error)}\n\n`)
      return
    case 'is limited':
      response.writeHead(429, { 'retry-after': '60' }).end()
      return
    case 'is overloaded':
      response.writeHead(529).end()
      return
    default:
      illness satisfies never
  }
}

/** Long ones have running usage in every event, as vLLM's with `continuous_usage_stats`. */
function chatEvents(asked: Asked, order: Order): Event[] {
  const { output, lastsMs } = order
  const head = {
    id: `call-${order.number}`,
    object: 'chat.completion.chunk',
    created: CREATED_S,
    model: asked.model,
  }
  const event = (fields: object) => `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  const words = wordsFor(lastsMs).map((content, index): Event => {
    const choices = [{ index: 0, delta: { content } }]
    if (lastsMs === 0) return { text: event({ choices }) }
    const soFar = Math.min(index + 1, output)
    return {
      text: event({ choices, usage: chatUsage(order, soFar) }),
      usage: { output: soFar, isFinal: false },
    }
  })
  const last = { text: event({ choices: [], usage: chatUsage(order) }), usage: { output, isFinal: true } }
  const wantsUsage = asked.stream_options?.include_usage === true
  return [...words, ...(wantsUsage ? [last] : []), { text: 'data: [DONE]\n\n' }]
}

function messageEvents(asked: Asked, order: Order): Event[] {
  const { input: input_tokens, output: output_tokens, lastsMs } = order
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
  const start = { model: asked.model, usage: { input_tokens, output_tokens: 1 } }
  const words = wordsFor(lastsMs).map((text) => ({
    text: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  }))
  return [
    { text: event('message_start', { message: start }), usage: { output: 1, isFinal: false } },
    ...words,
    {
      text: event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens } }),
      usage: { output: output_tokens, isFinal: true },
    },
    { text: event('message_stop', {}) },
  ]
}

function wordsFor(lastsMs: number): string[] {
  return lastsMs === 0
    ? WORDS
    : Array.from({ length: Math.ceil(lastsMs / WORD_EVERY_MS) }, (_, index) => ` word ${index}`)
}

function chatUsage({ input, output: all }: Order, output: number = all) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function messageUsage({ input, output }: Order) {
  return { input_tokens: input, output_tokens: output }
}

function json(response: ServerResponse, value: object): void {
  const text = JSON.stringify(value)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
