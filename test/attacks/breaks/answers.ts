import { setTimeout as delay } from 'node:timers/promises'
import { type Script, sendEvents, sendJson, sse } from '../provider.ts'

// What the provider answers, in its makers' formats, and what it bills for it.

export interface Use {
  readonly model: string
  readonly input: number
  readonly output: number
  readonly usd: number
  readonly searches?: number
  /** Between the last text and the end, milliseconds. */
  readonly endMs?: number
  /** Before anything, milliseconds. */
  readonly workMs?: number
}

/** 40 words; the last says that it is. */
const WORDS = [...Array.from({ length: 39 }, (_, at) => ` word${at}`), ' LAST']
/** Clients leave here. */
export const LAST = ' LAST'
const END_MS = 2_000

const isStream = (json: Readonly<Record<string, unknown>>) =>
  json.stream !== false && json.stream !== undefined

/** The Responses API. */
export const responses = (use: Use): Script => ({
  async answer({ json }, response, account) {
    const { model, input, output, usd, searches = 0, endMs = END_MS, workMs = 0 } = use
    const id = `resp_${Math.random().toString(36).slice(2)}0000`
    const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
    const found = Array.from({ length: searches }, (_, at) => ({
      id: `ws_${at}`,
      type: 'web_search_call',
      status: 'completed',
      action: { type: 'search', query: 'q' },
    }))
    const done = { id, object: 'response', model, status: 'completed', output: found, usage }
    await delay(workMs)
    account.bill(usd, input + output)
    if (!isStream(json)) return sendJson(response, done)
    const event = (type: string, more: object) => sse({ type, ...more }, true)
    return await sendEvents(response, [
      event('response.created', { response: { id, object: 'response', model, status: 'in_progress' } }),
      ...WORDS.map((delta) => event('response.output_text.delta', { delta, item_id: 'msg_1' })),
      endMs,
      event('response.output_text.done', { item_id: 'msg_1' }),
      event('response.completed', { response: done }),
    ])
  },
})

/** Anthropic's messages: what searches read is reported at the end. */
export const messages = (use: Use): Script => ({
  async answer({ json }, response, account) {
    const { model, input, output, usd, searches, endMs = END_MS, workMs = 0 } = use
    const tools = searches === undefined ? {} : { server_tool_use: { web_search_requests: searches } }
    const usage = { input_tokens: input, output_tokens: output, ...tools }
    const begun = { id: 'msg_1', type: 'message', role: 'assistant', model }
    await delay(workMs)
    account.bill(usd, input + output)
    if (!isStream(json))
      return sendJson(response, { ...begun, content: [{ type: 'text', text: WORDS.join('') }], usage })
    const event = (type: string, more: object) => sse({ type, ...more }, true)
    const first = { input_tokens: searches === undefined ? input : 2_400, output_tokens: 1 }
    return await sendEvents(response, [
      event('message_start', { message: { ...begun, content: [], usage: first } }),
      ...WORDS.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
      endMs,
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
      event('message_stop', {}),
    ])
  },
})

/** Chats: usage where the request asks for it, as a lenient server reads it. */
export const chat = (use: Use): Script => ({
  async answer({ json }, response, account) {
    const { model, input, output, usd, endMs = END_MS, workMs = 0 } = use
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model }
    await delay(workMs)
    account.bill(usd, input + output)
    if (!isStream(json)) {
      const choices = [
        { index: 0, message: { role: 'assistant', content: WORDS.join('') }, finish_reason: 'stop' },
      ]
      return sendJson(response, { ...head, object: 'chat.completion', choices, usage })
    }
    const isAsked = Boolean(Object(json.stream_options).include_usage)
    return await sendEvents(response, [
      ...WORDS.map((content) => sse({ ...head, choices: [{ index: 0, delta: { content } }] })),
      endMs,
      sse({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      ...(isAsked ? [sse({ ...head, choices: [], usage })] : []),
      'data: [DONE]\n\n',
    ])
  },
})
