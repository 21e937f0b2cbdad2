import { bedrockChunk, bedrockEvent } from '../../../../fixtures/event-messages.ts'
import { anthropicMessage } from './anthropic.ts'
import { ASKS_FOR_TOOL, type Family, REPORTED, TEXT, TOOL } from './provider.ts'

const USAGE = {
  inputTokens: REPORTED.input,
  outputTokens: REPORTED.output,
  totalTokens: REPORTED.input + REPORTED.output,
}
const EVENTS = 'application/vnd.amazon.eventstream'

/** The runtime of Amazon Bedrock. It takes a signature by its access key id. */
export const bedrock = (): Family => ({
  refuse(refusal, _asked, answer) {
    const [status, type, message] = {
      wrong_key: [
        403,
        'UnrecognizedClientException',
        'The security token included in the request is invalid.',
      ] as const,
      spent: [
        429,
        'ThrottlingException',
        'Too many tokens per day, please wait before trying again.',
      ] as const,
      no_model: [400, 'ValidationException', 'The provided model identifier is invalid.'] as const,
    }[refusal]
    answer.json(status, { message }, { 'x-amzn-errortype': type })
  },
  answer({ url, body }, answer) {
    const [, , encoded = '', method = ''] = url.pathname.split('/')
    const model = decodeURIComponent(encoded)
    const asksForTool = body.includes(ASKS_FOR_TOOL)
    const counts = {
      'x-amzn-bedrock-input-token-count': `${REPORTED.input}`,
      'x-amzn-bedrock-output-token-count': `${REPORTED.output}`,
    }
    answer.reports(model)
    if (method === 'converse') {
      const use = { toolUse: { toolUseId: 't1', name: TOOL.name, input: TOOL.arguments } }
      const message = { role: 'assistant', content: [asksForTool ? use : { text: TEXT }] }
      const stopReason = asksForTool ? 'tool_use' : 'end_turn'
      answer.json(200, { output: { message }, stopReason, usage: USAGE, metrics: { latencyMs: 1 } })
    } else if (method === 'converse-stream') {
      answer.stream(EVENTS, [
        bedrockEvent('messageStart', { role: 'assistant' }),
        bedrockEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: TEXT } }),
        bedrockEvent('contentBlockStop', { contentBlockIndex: 0 }),
        bedrockEvent('messageStop', { stopReason: 'end_turn' }),
        bedrockEvent('metadata', { usage: USAGE, metrics: { latencyMs: 1 } }),
      ])
    } else if (method === 'invoke') answer.json(200, anthropicMessage(model, asksForTool), counts)
    else answer.stream(EVENTS, [bedrockChunk(anthropicMessage(model, asksForTool))])
  },
})
