import { type Answer, ASKS_FOR_TOOL, type Asked, type Family, REPORTED, sse, TEXT, TOOL } from './provider.ts'

const JSON_LINES = 'application/x-ndjson'

/** Cohere's API, version 2. */
export const cohere = (): Family => ({
  refuse(refusal, _asked, answer) {
    const [status, message] = {
      wrong_key: [401, 'invalid api token'] as const,
      spent: [429, 'You have reached your monthly spend limit.'] as const,
      no_model: [404, "model 'no-such-model' not found"] as const,
    }[refusal]
    answer.json(status, { id: 'e1', message })
  },
  answer(asked, answer) {
    const { pathname } = asked.url
    if (pathname === '/v2/chat') cohereChat(asked, answer)
    else if (pathname === '/v2/embed') {
      const billed_units = { input_tokens: REPORTED.embedded }
      const embeddings = { float: [[0.25, 0.5]] }
      const body = {
        id: 'e1',
        embeddings,
        texts: ['a'],
        meta: { api_version: { version: '2' }, billed_units },
      }
      answer
        .reports(`${asked.json.model}`, REPORTED.embedded, 0)
        .json(200, { response_type: 'embeddings_by_type', ...body })
    } else if (pathname === '/v1/models')
      answer.json(200, { models: [{ name: 'command-r-08-2024', endpoints: ['chat'], features: null }] })
    else answer.json(404, { message: pathname })
  },
})

function cohereChat({ json, body }: Asked, answer: Answer): void {
  answer.reports(`${json.model}`)
  const usage = {
    billed_units: { input_tokens: REPORTED.input, output_tokens: REPORTED.output },
    tokens: { input_tokens: REPORTED.input, output_tokens: REPORTED.output },
  }
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: TOOL.name, arguments: JSON.stringify(TOOL.arguments) },
  }
  const message = body.includes(ASKS_FOR_TOOL)
    ? { role: 'assistant', tool_calls: [call], tool_plan: 'I look.' }
    : { role: 'assistant', content: [{ type: 'text', text: TEXT }] }
  if (json.stream !== true) {
    answer.json(200, { id: 'c1', finish_reason: 'COMPLETE', message, usage })
    return
  }
  const documents = [
    { type: 'message-start', id: 'c1', delta: { message: { role: 'assistant', content: [] } } },
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { text: TEXT } } } },
    { type: 'content-end', index: 0 },
    { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage } },
  ]
  answer.stream('text/event-stream', sse(documents, true))
}

/** Ollama's own API. */
export const ollama = (): Family => ({
  refuse(refusal, _asked, answer) {
    const [status, error] = {
      wrong_key: [401, 'unauthorized'] as const,
      spent: [429, 'you have reached your weekly usage limit'] as const,
      no_model: [404, "model 'no-such-model' not found"] as const,
    }[refusal]
    answer.json(status, { error })
  },
  answer(asked, answer) {
    const { pathname } = asked.url
    const { model } = asked.json
    if (pathname === '/api/chat') ollamaChat(asked, answer)
    else if (pathname === '/api/embed')
      answer.reports(`${model}`, REPORTED.embedded, 0).json(200, {
        model,
        embeddings: [[0.25, 0.5]],
        total_duration: 1,
        load_duration: 1,
        prompt_eval_count: REPORTED.embedded,
      })
    else if (pathname === '/api/tags')
      answer.json(200, {
        models: [
          { name: 'llama3.2', model: 'llama3.2', modified_at: '2025-10-01T00:00:00Z', size: 1, digest: 'd' },
        ],
      })
    else answer.json(404, { error: pathname })
  },
})

function ollamaChat({ json, body }: Asked, answer: Answer): void {
  answer.reports(`${json.model}`)
  const named = { model: json.model, created_at: '2025-10-01T00:00:00Z' }
  const figures = {
    done: true,
    done_reason: 'stop',
    total_duration: 1,
    load_duration: 1,
    prompt_eval_count: REPORTED.input,
    prompt_eval_duration: 1,
    eval_count: REPORTED.output,
    eval_duration: 1,
  }
  const message = body.includes(ASKS_FOR_TOOL)
    ? { role: 'assistant', content: '', tool_calls: [{ function: TOOL }] }
    : { role: 'assistant', content: TEXT }
  if (json.stream === false) {
    answer.json(200, { ...named, message, ...figures })
    return
  }
  const lines = [
    { ...named, message, done: false },
    { ...named, message: { role: 'assistant', content: '' }, done: false },
    { ...named, message: { role: 'assistant', content: '' }, ...figures },
  ]
  answer.stream(
    JSON_LINES,
    lines.map((line) => `${JSON.stringify(line)}\n`),
  )
}
