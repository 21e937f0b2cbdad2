import { findEntry } from '../../providers/registry.ts'
import { findMembers, mayContainUsage } from '../../providers/wires/prefilter.ts'

/** Names of models that may reason without showing it, of any version to come. */
const UNSEEN =
  /(?:^|[./~])(?:gpt-\d|chatgpt|codex|computer-use|o\d|grok|gemini|nova-[2-9]|sonar-deep)|deep-research/
/** Those of them that are known not to reason. */
const SEEN =
  /gpt-(?:3|4|oss)|gpt-5[\d.]*-chat|chatgpt-4o|grok-[12](?!\d)|non-reasoning|gemini-(?:1|2\.0)(?!.*thinking)|gemma|(?:^|[./~])(?:davinci|babbage|llama|meta|mistral|mixtral|magistral|codestral|ministral|deepseek|qwen|claude|anthropic|cohere|command|jamba|ai21|phi)/
/** Names whose answers are sound or pictures, which no tokenizer of ours counts. */
const NOT_TEXT = /audio|image|tts|realtime|speech/

/** Anthropic's models before these show their thinking whole; the others sum it up and bill the whole. */
const CLAUDE = /claude/
const OLD_CLAUDE = /claude-(?:2|3|instant|v\d)/
const THINKING = findMembers([
  'thinking',
  'redacted_thinking',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'reasoningContent',
  'reasoning_config',
])
/** Members of a request that make models hide the reasoning that they would show (OpenRouter, Groq, vLLM). */
const HIDES = findMembers(['exclude', 'reasoning_format', 'include_reasoning', 'hide_reasoning'])

const CALLS = findMembers(['tool_calls'])

/** What is known of a call when its client leaves. */
export interface UnseenQuery {
  readonly provider: string
  /** As the request and the answer name it; both count. */
  readonly models: readonly (string | null)[]
  readonly requestBody: Buffer | null
  /** The beginning of the answer. */
  readonly answerHead: Buffer
}

/**
 * Whether the model may have generated tokens that its answer does not show, so that what was delivered cannot be
 * counted. When in doubt, yes: the answer is then read to its end, which costs at most what its client ordered.
 */
export function mayGenerateUnseen({ provider, models, requestBody, answerHead }: UnseenQuery): boolean {
  if (requestBody !== null && mayContainUsage(HIDES, requestBody)) return true
  const names = models.flatMap((model) => (model === null ? [] : [model.toLowerCase().replace(/^ft:/, '')]))
  if (names.some((name) => NOT_TEXT.test(name))) return true
  if (names.some((name) => CLAUDE.test(name))) {
    if (names.some((name) => OLD_CLAUDE.test(name))) return false
    return (
      mayContainUsage(THINKING, answerHead) ||
      (requestBody !== null && mayContainUsage(THINKING, requestBody))
    )
  }
  if (names.some((name) => UNSEEN.test(name) && !SEEN.test(name))) return true
  const entry = findEntry(provider)
  const drops = entry?.dropsWordsBeforeCalls
  if (drops !== undefined && names.some((name) => drops.test(name)) && mayContainUsage(CALLS, answerHead))
    return true
  return entry?.hidesReasoning === true && !names.some((name) => SEEN.test(name))
}

/**
 * Our assumption of what hosted reasoning models generate in a second, at most; no provider states a bound. For an
 * answer that could not be read to its end, so that what it hid is booked too high rather than free.
 */
const UNSEEN_TOKENS_PER_SECOND = 200

/** An upper estimate of the tokens generated in `ms` by a model that does not show them. */
export function unseenTokens(ms: number): number {
  return Math.ceil((Math.max(0, ms) / 1000) * UNSEEN_TOKENS_PER_SECOND)
}
