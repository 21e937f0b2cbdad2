import { arrayIn, type JsonObject, member, objectIn, textIn } from './json-value.ts'

/**
 * How many calls of tools begin in an answer's JSON, a whole one or one event of a stream, in whichever format: the
 * makers put words around each that no text shows. Events that repeat what others brought begin none.
 */
export function calledTools(json: unknown): number {
  const document = objectIn(json)
  if (document === null) return 0
  const { type } = document
  if (typeof type === 'string' && type.startsWith('response.')) {
    return type.endsWith('.added') ? ofItems([document.item]) : 0
  }
  return (
    ofItems([document.content_block, ...arrayIn(document.content), ...arrayIn(document.output)]) +
    ofChat(document) +
    ofGemini(document) +
    ofConverse(document)
  )
}

/** Blocks of Anthropic's messages, items of responses. */
function ofItems(items: readonly unknown[]): number {
  const isCall = (item: unknown) => {
    const { type, name } = objectIn(item) ?? {}
    return (type === 'tool_use' || type === 'server_tool_use' || type === 'function_call') && isNamed(name)
  }
  return items.filter(isCall).length
}

/** OpenAI's chat, Ollama's and Cohere's. The pieces of a call that follow its first have no name. */
function ofChat(document: JsonObject): number {
  const choices = arrayIn(document.choices).map(
    (choice) => member(choice, 'delta') ?? member(choice, 'message'),
  )
  const messages = [...choices, member(document, 'message'), member(member(document, 'delta'), 'message')]
  return messages
    .flatMap((message) => {
      const calls = message?.tool_calls
      const listed = Array.isArray(calls) ? calls : [calls]
      return [...listed.map((call) => member(call, 'function')), member(message, 'function_call')]
    })
    .filter((called) => isNamed(called?.name)).length
}

function ofGemini(document: JsonObject): number {
  return arrayIn(document.candidates)
    .flatMap((candidate) => arrayIn(member(candidate, 'content')?.parts))
    .filter((part) => isNamed(member(part, 'functionCall')?.name)).length
}

function ofConverse(document: JsonObject): number {
  const message = member(member(document, 'output'), 'message')
  const started = member(document, 'start') ?? member(member(document, 'contentBlockStart'), 'start')
  return [...arrayIn(message?.content), started].filter((block) => isNamed(member(block, 'toolUse')?.name))
    .length
}

function isNamed(name: unknown): boolean {
  return (textIn(name) ?? '') !== ''
}
