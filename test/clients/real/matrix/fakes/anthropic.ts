import { type Answer, ASKS_FOR_TOOL, type Asked, type Family, REPORTED, sse, TEXT, TOOL } from './provider.ts'

const USAGE = { input_tokens: REPORTED.input, output_tokens: REPORTED.output }

/** A message of Anthropic's API; Bedrock's models have the same. */
export function anthropicMessage(model: string, asksForTool: boolean) {
  return {
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model,
    content: [
      asksForTool
        ? { type: 'tool_use', id: 'toolu_01', name: TOOL.name, input: TOOL.arguments }
        : { type: 'text', text: TEXT },
    ],
    stop_reason: asksForTool ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: USAGE,
  }
}

export const anthropic = (): Family => {
  let number = 0
  return {
    refuse(refusal, _asked, answer) {
      const [status, type, message] = {
        wrong_key: [401, 'authentication_error', 'invalid x-api-key'] as const,
        spent: [429, 'rate_limit_error', 'This request would exceed your monthly spend limit.'] as const,
        no_model: [404, 'not_found_error', 'model: no-such-model'] as const,
      }[refusal]
      answer.json(status, { type: 'error', error: { type, message }, request_id: 'req_1' })
    },
    answer(asked, answer) {
      const path = asked.url.pathname
      if (path === '/v1/messages') messages(asked, answer)
      else if (path === '/v1/messages/count_tokens') answer.json(200, { input_tokens: REPORTED.input })
      else if (path === '/v1/models') {
        const model = {
          type: 'model',
          id: 'claude-haiku-4-5',
          display_name: 'Haiku',
          created_at: '2025-10-01T00:00:00Z',
        }
        answer.json(200, { data: [model], has_more: false, first_id: model.id, last_id: model.id })
      } else if (path.endsWith('/results')) {
        const message = anthropicMessage('claude-haiku-4-5', false)
        const line = { custom_id: 'a', result: { type: 'succeeded', message } }
        answer.bytes(200, 'application/x-jsonl', `${JSON.stringify(line)}\n`)
      } else if (path.startsWith('/v1/messages/batches')) {
        if (asked.method === 'POST') number += 1
        const id = asked.method === 'POST' ? `msgbatch_0${number}Hk` : (path.split('/')[4] ?? '')
        answer.json(200, batch(id, asked.url.origin))
      } else if (path.startsWith('/v1/files')) {
        if (asked.method === 'POST') number += 1
        const id = asked.method === 'POST' ? `file_0${number}Hk` : (path.split('/')[3] ?? '')
        if (asked.method === 'DELETE') answer.json(200, { id, type: 'file_deleted' })
        else
          answer.json(200, {
            id,
            type: 'file',
            filename: 'a.txt',
            mime_type: 'text/plain',
            size_bytes: 12,
            created_at: '2025-10-01T00:00:00Z',
            downloadable: false,
          })
      } else answer.json(404, { type: 'error', error: { type: 'not_found_error', message: path } })
    },
  }
}

function messages({ json, body }: Asked, answer: Answer): void {
  const message = anthropicMessage(`${json.model}`, body.includes(ASKS_FOR_TOOL))
  answer.reports(message.model)
  if (json.stream !== true) {
    answer.json(200, message)
    return
  }
  const block = message.content[0]
  const start = block?.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} }
  const delta =
    block?.type === 'text'
      ? { type: 'text_delta', text: TEXT }
      : { type: 'input_json_delta', partial_json: JSON.stringify(TOOL.arguments) }
  const { usage, stop_reason, stop_sequence, ...rest } = message
  const begun = { ...rest, content: [], stop_reason: null, stop_sequence: null }
  const documents = [
    {
      type: 'message_start',
      message: { ...begun, usage: { input_tokens: REPORTED.input, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: start },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence },
      usage: { output_tokens: usage.output_tokens },
    },
    { type: 'message_stop' },
  ]
  answer.stream('text/event-stream', sse(documents, true))
}

function batch(id: string, origin: string): object {
  const times = { created_at: '2025-10-01T00:00:00Z', expires_at: '2025-10-02T00:00:00Z' }
  return {
    id,
    type: 'message_batch',
    processing_status: 'ended',
    request_counts: { processing: 0, succeeded: 1, errored: 0, canceled: 0, expired: 0 },
    ended_at: '2025-10-01T00:01:00Z',
    archived_at: null,
    cancel_initiated_at: null,
    ...times,
    results_url: `${origin}/v1/messages/batches/${id}/results`,
  }
}
