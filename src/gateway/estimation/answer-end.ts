import { findMembers, mayContainUsage } from '../../providers/wires/prefilter.ts'
import type { KeptBytes } from './body-windows.ts'

/**
 * Members that an answer has once its generated part is over, in the formats of all dialects; usage may
 * still follow. Inside of text their quotes would be escaped. A word found where it means nothing costs ten
 * seconds of reading. A word missing here costs the exact figures of an answer whose client left at its end.
 */
const ENDS = findMembers([
  'finish_reason', // chat, completions, Cohere, TGI, DashScope; null until the end
  'finishReason', // Gemini
  'stop_reason', // Anthropic, Llama on Bedrock; null until the end
  'stopReason', // Bedrock's converse, Nova
  'completionReason', // Titan
  'done_reason', // Ollama
  'stop_type', // llama.cpp
  'response.output_text.done',
  'response.refusal.done',
  'response.function_call_arguments.done',
  'response.content_part.done',
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'content-end', // Cohere v2
  'message-end',
  'stream-end', // Cohere v1
  'content.stop', // Gemini's Interactions
  'interaction.complete',
  'interaction.completed',
  'conversation.response.done', // Mistral's agents
  'message.end', // LM Studio
  'chat.end',
  'transcript.text.done',
  'speech.audio.done',
  'image_generation.completed',
  'image_edit.completed',
])
const DONE = '[DONE]'

const NEWLINE = 0x0a
const OPEN_BRACE = 0x7b
/** Bedrock's invoke streams carry the model's events as base64. */
const WRAPPED = /"bytes":"([A-Za-z0-9+/]+)/g

/**
 * Whether the generated part of an answer has passed, so that only its usage can be missing. It is decided
 * by what is kept of the body when the client leaves, not before. A single JSON document has passed with its
 * first byte, as it is written when all was generated. When in doubt, yes.
 *
 * @param contentType lower case
 */
export function answerHasEnded({ head, tail, between }: KeptBytes, contentType: string): boolean {
  if (head.length === 0) return false
  if (isOneDocument(head, contentType)) return true
  const last = tail.length === 0 ? head : between > 0 ? tail : Buffer.concat([head, tail])
  // An event so long that its beginning was not kept repeats the whole answer, or is a picture.
  if (between > 0 && !tail.includes(NEWLINE)) return true
  if (mayContainUsage(ENDS, last) || last.includes(DONE)) return true
  return contentType.includes('eventstream') && mayContainUsage(ENDS, unwrapped(last))
}

function isOneDocument(head: Buffer, contentType: string): boolean {
  return (
    /json\b/.test(contentType) &&
    !/ndjson|jsonl|lines|stream/.test(contentType) &&
    firstByte(head) === OPEN_BRACE
  )
}

function firstByte(bytes: Buffer): number | undefined {
  return bytes.find((byte) => byte > 0x20)
}

function unwrapped(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (const [, text = ''] of bytes.toString('latin1').matchAll(WRAPPED))
    parts.push(Buffer.from(text, 'base64'))
  return Buffer.concat(parts)
}
