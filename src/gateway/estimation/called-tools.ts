/** What is known of the calls of tools in a generated text. */
export interface CalledTools {
  readonly calls: number
  /** The request left the model no choice but to call a tool, so the words that begin a call are not generated. */
  readonly isForced: boolean
}

export const NO_CALLS: CalledTools = { calls: 0, isForced: false }

const CHOICES = ['"tool_choice"', '"toolChoice"', '"function_call"', '"functionCallingConfig"']
/** The value of such a member, in the formats of OpenAI, Anthropic, Bedrock and Gemini. */
const FORCING =
  /^\s*:\s*(?:"(?:any|required)"|\{\s*"(?:any|tool)"\s*:|\{\s*"name"\s*:\s*"|\{[^{}]*"(?:type|mode)"\s*:\s*"(?:any|tool|function|required)")/i
/** As far as such a value is looked at. */
const CHOICE_BYTES = 256

/** Whether the request makes the model call a tool. */
export function forcesCall(requestBody: Buffer | null): boolean {
  if (requestBody === null) return false
  return CHOICES.some((name) => {
    const at = requestBody.indexOf(name)
    if (at < 0) return false
    const start = at + name.length
    return FORCING.test(requestBody.toString('latin1', start, start + CHOICE_BYTES))
  })
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * The arguments in `text`, a generated one with calls in it: members of the JSON objects in it that are in no other. Cut or
 * loose JSON counts as far as it goes.
 */
export function argumentsIn(text: string): number {
  let depth = 0
  let found = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isQuoted && code === BACKSLASH) at += 1
    else if (code === QUOTE && depth > 0) isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (code === 0x7b || code === 0x5b) depth += 1
    else if ((code === 0x7d || code === 0x5d) && depth > 0) depth -= 1
    else if (code === 0x3a && depth === 1) found += 1
  }
  return found
}
