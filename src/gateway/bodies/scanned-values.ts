import { parsedJson } from '../../domain/json.ts'

const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const DELETE = 0x7f

/** A value, where only these three matter. */
export type Literal = true | false | null | 'other'

/** No model has a longer name. */
const MAX_MODEL_BYTES = 1024

/**
 * Members that name models which may serve the call in the place of its own, as {@link foldName} gives them: OpenRouter's
 * and Vercel's, an operator's stored settings there (a preset) and at LiteLLM (a prompt), then what LiteLLM's router takes
 * for one call. Source: BerriAI/litellm, `route_llm_request.py`, `router.py`; OpenRouter's page on presets.
 */
const NAMING_OTHERS: ReadonlySet<string> = new Set([
  'models',
  'preset',
  'prompt_id',
  'fallbacks',
  'context_window_fallbacks',
  'content_policy_fallbacks',
  'default_fallbacks',
  'router_settings_override',
  'user_config',
  'model_list',
])

/** LiteLLM puts what stands in it over the body. */
const OVER_THE_BODY = 'extra_body'
/** Google's takes far less. */
const MAX_OVER_BYTES = 65_536
/** A name in escapes may be any. */
const NAMES_MODEL = new RegExp(`\\\\u|"(?:model|${[...NAMING_OTHERS].join('|')})"\\s*:`, 'i')

/** The length of the longest key that matters with each letter written as a `\u` escape. */
const MAX_KEY_BYTES = 'router_settings_override'.length * 6

/** The key without escapes; '' for a key that is too long to matter. */
export function memberKey(body: Buffer, start: number, end: number): string {
  if (end - start > MAX_KEY_BYTES) return ''
  const text = body.toString('latin1', start, end)
  return text.includes('\\') ? (parsedString(body, start - 1, end + 1) ?? '') : text
}

/** More than the longest name of an operator's takes, with each letter written as a `\u` escape. */
const MAX_NAME_BYTES = 64 * 6

/** The key as its reader has it, where names that an operator wrote matter; '' for a longer one than any of these. */
export function memberName(body: Buffer, start: number, end: number): string {
  return end - start > MAX_NAME_BYTES ? '' : (parsedString(body, start - 1, end + 1) ?? '')
}

/** Whether the key is as {@link foldName} would give it, by its bytes: nearly every key is. */
export function isFolded(key: string): boolean {
  for (let at = 0; at < key.length; at++) {
    const byte = key.charCodeAt(at)
    if (byte >= 0x80 || (byte >= 0x41 && byte <= 0x5a)) return false
  }
  return true
}

/**
 * A key as Go's encoding/json compares it, which takes `Max_Tokens` for `max_tokens`: without regard to case, and with the
 * long s and the Kelvin sign as the letters that they fold to. Keys come as latin-1, or whole where they had escapes.
 */
export function foldName(key: string): string {
  if (isFolded(key)) return key
  return key
    .toLowerCase()
    .replace(/\u017f|\u00e5\u00bf/g, 's')
    .replace(/\u00e2\u0084\u00aa/g, 'k')
}

/**
 * Tells whether a member of this name lets other models serve the call.
 *
 * @param body holds its value from `start` to `end`; absent: the value is not looked at.
 */
export function namesOthers(key: string, body?: Buffer, start = 0, end = 0): boolean {
  const name = foldName(key)
  if (name !== OVER_THE_BODY) return NAMING_OTHERS.has(name)
  if (body === undefined) return true
  return end - start > MAX_OVER_BYTES || NAMES_MODEL.test(body.toString('latin1', start, end))
}

/** A model's name; `null`: the value is not a string, or is too long. */
export function modelText(body: Buffer, start: number, end: number): string | null {
  if (end - start > MAX_MODEL_BYTES) return null
  return isPlainText(body, start, end)
    ? body.toString('latin1', start + 1, end - 1)
    : parsedString(body, start, end)
}

/** Whether the value is a string of characters that stand for themselves, one byte each: nearly every name is. */
function isPlainText(body: Buffer, start: number, end: number): boolean {
  if (end - start < 2 || body[start] !== QUOTE || body[end - 1] !== QUOTE) return false
  for (let at = start + 1; at < end - 1; at++) {
    const byte = body[at] ?? 0
    if (byte < SPACE || byte >= DELETE || byte === QUOTE || byte === BACKSLASH) return false
  }
  return true
}

function parsedString(body: Buffer, start: number, end: number): string | null {
  const value = parsedJson(body.toString('utf8', start, end))
  return typeof value === 'string' ? value : null
}

/** The value between `start` and `end`. */
export function literalAt(body: Buffer, start: number, end: number): Literal {
  if (end - start > 5) return 'other'
  switch (body.toString('latin1', start, end)) {
    case 'true':
      return true
    case 'false':
      return false
    case 'null':
      return null
    default:
      return 'other'
  }
}
