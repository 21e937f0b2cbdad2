import { decodeGenerator, encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { Dialect } from '../../../src/providers/dialect.ts'
import { selectDialect } from '../../../src/providers/registry.ts'

function getChatDialect(): Dialect {
  const dialect = selectDialect('openai', 'POST', '/v1/chat/completions')
  if (dialect === null) throw new Error('chat completions have no dialect')
  return dialect
}

/** OpenAI's chat completions. */
export const chatDialect = getChatDialect()

/** One event of a chat stream, as OpenAI writes it. */
export function chatEvent(content: string): string {
  const chunk = {
    id: 'chatcmpl-Bxyz0123456789abcdefghijkl',
    object: 'chat.completion.chunk',
    created: 1760000000,
    model: 'gpt-4o-2024-08-06',
    service_tier: 'default',
    system_fingerprint: 'fp_0123456789',
    choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
    obfuscation: 'x'.repeat(content.length % 11),
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

/** `text` as a chat stream without usage, one token an event, and how many tokens that is. */
export function chatStream(text: string): { readonly bytes: Buffer; readonly tokens: number } {
  const tokens = encode(text, { disallowedSpecial: new Set() })
  const events = [...decodeGenerator(tokens)].map(chatEvent)
  return { bytes: Buffer.from(`${chatEvent('')}${events.join('')}data: [DONE]\n\n`), tokens: tokens.length }
}
