/** The last piece of text and the event that ends the answer, of each format that is streamed. */
export function createMadeStreams(): readonly [name: string, before: string, end: string][] {
  const sse = (json: object) => `data: ${JSON.stringify(json)}\n\n`
  return [
    [
      'chat',
      sse({ choices: [{ delta: { content: 'a' }, finish_reason: null }] }),
      sse({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
    ],
    ['chat without a finish reason', sse({ choices: [{ delta: { content: 'a' } }] }), 'data: [DONE]\n\n'],
    [
      'chat with spaces',
      'data: {"choices": [{"finish_reason": null}]}\n\n',
      'data: {"choices": [{"finish_reason": "stop"}]}\n\n',
    ],
    [
      'responses',
      sse({ type: 'response.output_text.delta', delta: 'a' }),
      sse({ type: 'response.output_text.done', text: 'a' }),
    ],
    [
      'responses with a call',
      sse({ type: 'response.function_call_arguments.delta', delta: '{' }),
      sse({ type: 'response.output_item.done', item: { type: 'function_call' } }),
    ],
    [
      'messages',
      sse({ type: 'message_start', message: { stop_reason: null } }),
      sse({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} }),
    ],
    [
      'generateContent',
      sse({ candidates: [{ content: { parts: [{ text: 'a' }] } }] }),
      sse({ candidates: [{ finishReason: 'STOP' }] }),
    ],
    ['converse', '{"contentBlockIndex":0,"delta":{"text":"a"}}', '{"stopReason":"end_turn"}'],
    ['Cohere', sse({ type: 'content-delta', delta: {} }), sse({ type: 'content-end', index: 0 })],
    ['Ollama', '{"response":"a","done":false}\n', '{"response":"","done":true,"done_reason":"stop"}\n'],
    [
      'TGI',
      sse({ token: { text: 'a' }, generated_text: null, details: null }),
      sse({ token: { text: '' }, generated_text: 'a', details: { finish_reason: 'length' } }),
    ],
    ['llama.cpp', sse({ content: 'a', stop: false }), sse({ content: '', stop: true, stop_type: 'eos' })],
    [
      'Interactions',
      sse({ event_type: 'content.delta', delta: { text: 'a' } }),
      sse({ event_type: 'content.stop', index: 0 }),
    ],
    [
      "Mistral's agents",
      sse({ type: 'message.output.delta', content: 'a' }),
      sse({ type: 'conversation.response.done', usage: {} }),
    ],
    ['LM Studio', sse({ type: 'message.delta', content: 'a' }), sse({ type: 'message.end' })],
  ]
}
