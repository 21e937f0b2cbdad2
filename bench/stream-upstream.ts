import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A backend that streams 1,000 events in the format that `x-format` names, one every `x-interval-ms`. 0: as
 * fast as possible, with several events in one read of the gateway.
 */
const EVENTS = 1000
const TEXT = 'some words of an answer that is being streamed'

function chat(usage: object | null): string {
  return `data: ${JSON.stringify({
    id: 'chatcmpl-CD6FTpcSzPQsGXGMqsFyvnVQpTrR2',
    object: 'chat.completion.chunk',
    created: 1_757_800_000,
    model: 'gpt-4o-mini-2024-07-18',
    service_tier: 'default',
    system_fingerprint: 'fp_560af6e559',
    choices:
      usage === null ? [{ index: 0, delta: { content: TEXT }, logprobs: null, finish_reason: null }] : [],
    usage,
  })}\n\n`
}

function named(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

function gemini(output: number): string {
  return `data: ${JSON.stringify({
    candidates: [{ content: { parts: [{ text: TEXT }], role: 'model' }, index: 0 }],
    usageMetadata: {
      promptTokenCount: 2000,
      candidatesTokenCount: output,
      totalTokenCount: 2000 + output,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 2000 }],
    },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'kxVLaZiOKe-W1PIPx7_o2Q4',
  })}\r\n\r\n`
}

function many(make: (index: number) => string, ...last: readonly string[]): readonly string[] {
  return [...Array.from({ length: EVENTS - last.length }, (_, index) => make(index)), ...last]
}

const FORMATS: Readonly<Record<string, readonly string[]>> = {
  chat: many(
    () => chat(null),
    chat({ prompt_tokens: 2000, completion_tokens: EVENTS, total_tokens: 2000 + EVENTS }),
    'data: [DONE]\n\n',
  ),
  messages: [
    named('message_start', {
      message: { id: 'msg_1', model: 'claude-sonnet-4-5', usage: { input_tokens: 2000, output_tokens: 1 } },
    }),
    ...many(
      () => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
      named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: EVENTS } }),
      named('message_stop', {}),
    ),
  ],
  gemini: many((index) => gemini(index + 1)),
  ollama: many(
    () =>
      `${JSON.stringify({ model: 'llama3.2', message: { role: 'assistant', content: TEXT }, done: false })}\n`,
    `${JSON.stringify({ model: 'llama3.2', done: true, prompt_eval_count: 2000, eval_count: EVENTS })}\n`,
  ),
}

const server = createServer((request, response) => {
  const events = FORMATS[`${request.headers['x-format']}`]
  request.resume()
  request.on('end', () => {
    if (events === undefined) {
      response.writeHead(404).end()
      return
    }
    const type = request.headers['x-format'] === 'ollama' ? 'application/x-ndjson' : 'text/event-stream'
    response.writeHead(200, { 'content-type': type })
    const intervalMs = Number(request.headers['x-interval-ms'])
    let next = 0
    const write = () => {
      const text = events[next]
      next += 1
      if (text === undefined) response.end()
      else if (intervalMs > 0) response.write(text)
      else response.write(text, () => setImmediate(write))
      if (text === undefined) clearInterval(timer)
    }
    const timer = intervalMs > 0 ? setInterval(write, intervalMs) : undefined
    if (timer === undefined) write()
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
