import { arrayIn, type JsonObject, member, objectIn } from '../reading/json-value.ts'

/**
 * Generated text of a chat completion, a completion or a chunk of either: content, refusals, reasoning under each
 * of its names, names and arguments of tool calls.
 */
export function chatText(json: unknown): string {
  return arrayIn(objectIn(json)?.choices)
    .map((choice) => {
      const message = member(choice, 'delta') ?? member(choice, 'message') ?? {}
      return stringIn(objectIn(choice)?.text) + messageText(message)
    })
    .join('')
}

function messageText(message: JsonObject): string {
  const calls = arrayIn(message.tool_calls).map((call) => member(call, 'function'))
  return [
    contentText(message.content),
    stringIn(message.refusal),
    stringIn(message.reasoning_content) || stringIn(message.reasoning) || stringIn(message.thinking),
    ...[...calls, member(message, 'function_call')].map(callText),
    stringIn(member(message, 'audio')?.transcript),
  ].join('')
}

/** Content is a string, or parts as Mistral's and Databricks' thinking and multi-modal answers have them. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return arrayIn(content)
    .map((part) => {
      const { text, thinking, summary, refusal } = objectIn(part) ?? {}
      return stringIn(text) + stringIn(refusal) + contentText(thinking) + contentText(summary)
    })
    .join('')
}

function callText(call: JsonObject | null): string {
  return stringIn(call?.name) + stringIn(call?.arguments)
}

function stringIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Generated text of the Responses API: a delta event's piece, or a whole response's messages, refusals, reasoning
 * and calls. Events that repeat what deltas brought (`...done`, `response.completed`) give nothing.
 */
export function responsesText(json: unknown): string {
  const { type, delta, output, item } = objectIn(json) ?? {}
  if (typeof type === 'string') {
    if (type === 'response.output_item.added') return stringIn(objectIn(item)?.name)
    const isText = type.endsWith('.delta') && !type.endsWith('audio.delta')
    return isText ? stringIn(delta) : ''
  }
  return arrayIn(output)
    .map((item) => {
      const { content, summary, name, arguments: input } = objectIn(item) ?? {}
      return contentText(summary) + contentText(content) + stringIn(name) + stringIn(input)
    })
    .join('')
}
