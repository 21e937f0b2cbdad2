import type { PromptFormat } from '../../providers/dialect.ts'
import { countJsonValues } from '../../providers/wires/json-bytes.ts'
import { countOpenAiTokens } from './count-tokens.ts'
import { familyOf } from './model-family.ts'
import { type Prompt, readPrompt } from './prompt-text.ts'

/** No prompt of text comes near this. */
const MAX_PARSED_BYTES = 32 * 1024 * 1024
/**
 * Three bytes of hostile JSON become a hundred in memory, and a thread that runs out of it takes the process along:
 * with this many values parsing stays under 100 MB.
 */
const MAX_PARSED_VALUES = 500_000

/** Estimates the tokens of generated `text`. */
export async function estimateTextTokens(
  text: string,
  model: string | null,
  format: PromptFormat,
): Promise<number> {
  const counted = await countOpenAiTokens(text, model)
  return Math.round(counted * familyOf(model, format).tokensPerOpenAiToken)
}

/**
 * Estimates the tokens of the prompt in a request's JSON; `null` when it cannot be read as JSON, is too big, or has no
 * prompt where one would stand: some servers read keys that others do not.
 */
export async function estimatePromptTokens(
  body: Buffer,
  model: string | null,
  format: PromptFormat,
): Promise<number | null> {
  if (body.length > MAX_PARSED_BYTES) return null
  if (countJsonValues(body, MAX_PARSED_VALUES) > MAX_PARSED_VALUES) return null
  let request: unknown
  try {
    request = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    return null
  }
  const prompt = readPrompt(request)
  if (isEmpty(prompt)) return null
  const family = familyOf(model, format)
  const messages = Math.max(prompt.messages, format.isChat === true ? 1 : 0)
  return Math.round(
    (await countOpenAiTokens(prompt.text, model)) * family.tokensPerOpenAiToken +
      (await countOpenAiTokens(prompt.definitions, model)) * family.tokensPerDefinitionToken +
      (messages > 0 ? family.tokensPerChat : 0) +
      messages * family.tokensPerMessage +
      (prompt.hasTools ? family.tokensPerToolList : 0) +
      prompt.tokenIds +
      prompt.images * family.tokensPerImage +
      prompt.lowDetailImages * family.tokensPerLowDetailImage +
      prompt.videos * family.tokensPerVideo +
      prompt.documents * family.tokensPerDocument +
      prompt.audioBytes / family.audioBytesPerToken,
  )
}

function isEmpty(prompt: Prompt): boolean {
  const { text, definitions, messages, tokenIds, images, lowDetailImages, videos, documents, audioBytes } =
    prompt
  return (
    text === '' &&
    definitions === '' &&
    messages + tokenIds + images + lowDetailImages + videos + documents + audioBytes === 0
  )
}
