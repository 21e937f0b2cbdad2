import { arrayIn, type JsonObject, member, objectIn } from '../reading/json-value.ts'

/**
 * Generated text of a message or of one stream event: text, thinking, names and input of tools called, and the
 * `completion` of the legacy API.
 */
export function anthropicText(json: unknown): string {
  const event = objectIn(json)
  if (event === null) return ''
  const { delta, content_block: block, completion } = event
  const started = blockText(objectIn(block) ?? {})
  return deltaText(objectIn(delta) ?? {}) + started + stringIn(completion) + wholeText(event)
}

function wholeText(message: JsonObject): string {
  return arrayIn(message.content)
    .map((block) => blockText(objectIn(block) ?? {}))
    .join('')
}

function deltaText(delta: JsonObject): string {
  return stringIn(delta.text) + stringIn(delta.thinking) + stringIn(delta.partial_json)
}

function blockText(block: JsonObject): string {
  const input = member(block, 'input')
  const written = input === null || Object.keys(input).length === 0 ? '' : JSON.stringify(input)
  return stringIn(block.text) + stringIn(block.thinking) + stringIn(block.name) + written
}

function stringIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
