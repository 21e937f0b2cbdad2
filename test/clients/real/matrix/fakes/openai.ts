import { type Answer, ASKS_FOR_TOOL, type Asked, type Family, REPORTED, sse, TEXT, TOOL } from './provider.ts'

const EVENTS = 'text/event-stream'
const CHAT_USAGE = {
  prompt_tokens: REPORTED.input,
  completion_tokens: REPORTED.output,
  total_tokens: REPORTED.input + REPORTED.output,
}
const RESPONSES_USAGE = {
  input_tokens: REPORTED.input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: REPORTED.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: REPORTED.input + REPORTED.output,
}

/** OpenAI's API, which Groq and Mistral serve as well; `refuse` says their errors. */
export const openAi = (models: readonly string[], refuse: Family['refuse'] = openAiRefusal): Family => {
  const state = { number: 0 }
  return {
    refuse,
    answer(asked, answer) {
      const path = asked.url.pathname.replace(/^\/openai/, '')
      if (path === '/v1/chat/completions') chat(asked, answer)
      else if (path === '/v1/responses') responses(asked, answer)
      else if (path === '/v1/embeddings') embeddings(asked, answer)
      else if (path === '/v1/models') answer.json(200, listOf(models))
      else if (path.startsWith('/v1/files')) files(path, state, asked, answer)
      else if (path.startsWith('/v1/batches')) batches(path, state, asked, answer)
      else
        answer.json(404, {
          error: { message: `Invalid URL (${asked.method} ${path})`, type: 'invalid_request_error' },
        })
    },
  }
}

const listOf = (models: readonly string[]) => ({
  object: 'list',
  data: models.map((id) => ({ id, object: 'model', created: 1_721_172_741, owned_by: 'system' })),
})

export const openAiRefusal: Family['refuse'] = (refusal, _asked, answer) => {
  const error = {
    wrong_key: ['Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'],
    spent: ['You exceeded your current quota.', 'insufficient_quota', 'insufficient_quota'],
    no_model: ['The model `no-such-model` does not exist.', 'invalid_request_error', 'model_not_found'],
  }[refusal]
  const status = { wrong_key: 401, spent: 429, no_model: 404 }[refusal]
  answer.json(status, { error: { message: error[0], type: error[1], param: null, code: error[2] } })
}

export const mistralRefusal: Family['refuse'] = (refusal, asked, answer) => {
  if (refusal === 'no_model') {
    const error = {
      object: 'error',
      message: 'Invalid model: no-such-model',
      type: 'invalid_model',
      code: '1500',
    }
    answer.json(400, { ...error, param: null, raw_status_code: 400 })
  } else if (refusal === 'wrong_key') answer.json(401, { detail: 'Unauthorized' })
  else openAiRefusal(refusal, asked, answer)
}

function chat({ provider, json, body }: Asked, answer: Answer): void {
  const model = `${json.model}`
  answer.reports(model)
  const calls = [
    {
      id: 'call_1',
      type: 'function',
      function: { name: TOOL.name, arguments: JSON.stringify(TOOL.arguments) },
    },
  ]
  const asksForTool = body.includes(ASKS_FOR_TOOL)
  const finish_reason = asksForTool ? 'tool_calls' : 'stop'
  const named = { id: 'chatcmpl-1', created: 1_721_172_741, model, system_fingerprint: 'fp_1' }
  if (json.stream !== true) {
    const message = asksForTool
      ? { role: 'assistant', content: null, tool_calls: calls }
      : { role: 'assistant', content: TEXT }
    const choices = [{ index: 0, message, finish_reason, logprobs: null }]
    answer.json(200, { ...named, object: 'chat.completion', choices, usage: CHAT_USAGE })
    return
  }
  const chunk = { ...named, object: 'chat.completion.chunk' }
  const delta = (fields: object, reason: string | null = null) => ({
    ...chunk,
    choices: [{ index: 0, delta: fields, finish_reason: reason }],
  })
  const parts = asksForTool
    ? [delta({ tool_calls: calls.map((call) => ({ index: 0, ...call })) })]
    : ['Hello', ' there', '.'].map((content) => delta({ content }))
  const usage = { ...chunk, choices: [], usage: CHAT_USAGE }
  const asksForUsage =
    (json.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true
  // Mistral and Groq send it with their last piece, asked or not.
  const unasked = (
    { mistral: { usage: CHAT_USAGE }, groq: { x_groq: { id: 'req_1', usage: CHAT_USAGE } } } as Record<
      string,
      object | undefined
    >
  )[provider]
  const documents = [
    delta({ role: 'assistant', content: '' }),
    ...parts,
    { ...delta({}, finish_reason), ...unasked },
    ...(asksForUsage && unasked === undefined ? [usage] : []),
  ]
  answer.stream(EVENTS, [...sse(documents), 'data: [DONE]\n\n'])
}

function responses({ json }: Asked, answer: Answer): void {
  const model = `${json.model}`
  answer.reports(model)
  const content = [{ type: 'output_text', text: TEXT, annotations: [], logprobs: [] }]
  const item = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content }
  const response = (status: string) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1_721_172_741,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model,
    output: status === 'completed' ? [item] : [],
    parallel_tool_calls: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: status === 'completed' ? RESPONSES_USAGE : null,
  })
  if (json.stream !== true) {
    answer.json(200, response('completed'))
    return
  }
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const empty = { ...item, status: 'in_progress', content: [] }
  const part = { type: 'output_text', text: '', annotations: [] }
  const documents = [
    { type: 'response.created', response: response('in_progress') },
    { type: 'response.in_progress', response: response('in_progress') },
    { type: 'response.output_item.added', output_index: 0, item: empty },
    { type: 'response.content_part.added', ...at, part },
    { type: 'response.output_text.delta', ...at, delta: TEXT, logprobs: [] },
    { type: 'response.output_text.done', ...at, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: content[0] },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: response('completed') },
  ].map((document, sequence_number) => ({ ...document, sequence_number }))
  answer.stream(EVENTS, sse(documents, true))
}

function embeddings({ json }: Asked, answer: Answer): void {
  const model = `${json.model}`
  const vector = [0.25, 0.5]
  const embedding =
    json.encoding_format === 'base64'
      ? Buffer.from(new Float32Array(vector).buffer).toString('base64')
      : vector
  const inputs = [json.input].flat()
  answer.reports(model, REPORTED.embedded, 0).json(200, {
    object: 'list',
    id: 'emb_1',
    model,
    data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
    usage: { prompt_tokens: REPORTED.embedded, total_tokens: REPORTED.embedded, completion_tokens: 0 },
  })
}

function files(path: string, state: { number: number }, asked: Asked, answer: Answer): void {
  if (path.endsWith('/content')) {
    const body = { model: 'gpt-4o-mini', choices: [], usage: CHAT_USAGE }
    const line = {
      id: 'b_1',
      custom_id: 'a',
      response: { status_code: 200, request_id: 'r', body },
      error: null,
    }
    answer.bytes(200, 'application/octet-stream', `${JSON.stringify(line)}\n`)
    return
  }
  if (asked.method === 'POST') state.number += 1
  const id = asked.method === 'POST' ? `file-${state.number}xQ7` : path.split('/')[3]
  if (asked.method === 'DELETE') answer.json(200, { id, object: 'file', deleted: true })
  else
    answer.json(200, {
      id,
      object: 'file',
      bytes: 12,
      created_at: 1_721_172_741,
      filename: 'a.jsonl',
      purpose: 'batch',
      status: 'processed',
    })
}

function batches(path: string, state: { number: number }, asked: Asked, answer: Answer): void {
  if (asked.method === 'POST') state.number += 1
  const id = asked.method === 'POST' ? `batch_${state.number}kW3` : path.split('/')[3]
  answer.json(200, {
    id,
    object: 'batch',
    endpoint: '/v1/chat/completions',
    errors: null,
    input_file_id: asked.json.input_file_id ?? 'file-1xQ7',
    completion_window: '24h',
    status: 'completed',
    output_file_id: `file-out${id}`,
    error_file_id: null,
    created_at: 1_721_172_741,
    request_counts: { total: 1, completed: 1, failed: 0 },
    metadata: null,
  })
}
