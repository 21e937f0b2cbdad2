import { anthropicText } from '../anthropic/anthropic-text.ts'
import { chatText } from '../openai/openai-text.ts'
import { arrayIn, objectIn, textIn } from '../reading/json-value.ts'
import { converseText } from './bedrock-converse.ts'

/** What a model wrote in an answer or in one event of its stream, also one still in its chunk. */
export function invokeText(json: unknown): string {
  const bytes = textIn(objectIn(json)?.bytes)
  if (bytes !== null) {
    try {
      return invokeText(JSON.parse(Buffer.from(bytes, 'base64').toString()))
    } catch {
      return ''
    }
  }
  return anthropicText(json) + converseText(json) + chatText(json) + textOfOlderFamilies(json)
}

/** Llama's `generation`, Titan's `outputText`, Mistral's `outputs`, Cohere's `text` and `generations`. */
function textOfOlderFamilies(json: unknown): string {
  const document = objectIn(json)
  const lists = ['results', 'outputs', 'generations'].flatMap((key) => arrayIn(document?.[key]))
  const texts = [document, ...lists.map(objectIn)].flatMap((part) => [
    part?.generation,
    part?.outputText,
    part?.text,
  ])
  return texts.map((text) => textIn(text) ?? '').join('')
}
