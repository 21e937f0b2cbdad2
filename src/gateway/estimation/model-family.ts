import type { PromptFormat, TokenizerFamily } from '../../providers/dialect.ts'

/**
 * What a family of models makes of a prompt, for estimates. Text and templates were compared with the counts that
 * upstreams reported for recorded calls; sizes of media are the makers' published ones for common sizes.
 */
export interface ModelFamily {
  /** Tokens for text that is one token in OpenAI's encoding. */
  readonly tokensPerOpenAiToken: number
  /** What the chat template puts around the conversation and around each message. */
  readonly tokensPerChat: number
  readonly tokensPerMessage: number
  /** What naming any tools adds, and tokens for a token of their definitions as JSON. */
  readonly tokensPerToolList: number
  readonly tokensPerDefinitionToken: number
  readonly tokensPerImage: number
  readonly tokensPerLowDetailImage: number
  readonly tokensPerVideo: number
  readonly tokensPerDocument: number
  readonly audioBytesPerToken: number
}

/** https://platform.openai.com/docs/guides/images-vision: 765 for 1024 x 1024, 85 at low detail; sound 10 a second. */
const OPENAI: ModelFamily = {
  tokensPerOpenAiToken: 1,
  tokensPerChat: 3,
  tokensPerMessage: 3,
  tokensPerToolList: 0,
  tokensPerDefinitionToken: 0.75,
  tokensPerImage: 765,
  tokensPerLowDetailImage: 85,
  tokensPerVideo: 3000,
  tokensPerDocument: 3000,
  audioBytesPerToken: 3200,
}

/** https://platform.claude.com/docs/en/build-with-claude/vision: at most some 1,600 an image; PDF 1,500-3,000 a page. */
const CLAUDE: ModelFamily = {
  ...OPENAI,
  tokensPerOpenAiToken: 1.18,
  tokensPerChat: 2,
  tokensPerMessage: 4,
  tokensPerToolList: 450,
  tokensPerDefinitionToken: 1,
  tokensPerImage: 1500,
  tokensPerLowDetailImage: 1500,
}

/** What naming tools adds has grown since Claude 4.5. */
const CLAUDE_SINCE_4_5: ModelFamily = { ...CLAUDE, tokensPerToolList: 550 }

/** The tokenizer since Opus 4.7 makes more of a text: of 41 recorded answers the older factor gave a quarter less. */
const CLAUDE_SINCE_4_7: ModelFamily = {
  ...CLAUDE_SINCE_4_5,
  tokensPerOpenAiToken: 1.5,
  tokensPerDefinitionToken: 1.3,
}

/** https://ai.google.dev/gemini-api/docs/tokens: 258 an image or a page, sound 32 and video 263 a second. */
const GEMINI: ModelFamily = {
  ...OPENAI,
  tokensPerChat: 0,
  tokensPerMessage: 0,
  tokensPerDefinitionToken: 0.35,
  tokensPerImage: 258,
  tokensPerLowDetailImage: 258,
  audioBytesPerToken: 750,
}

/** Since 3.1 definitions are counted nearly as they are written: at a third of that 311 recorded prompts came to half. */
const GEMINI_SINCE_3_1: ModelFamily = { ...GEMINI, tokensPerDefinitionToken: 0.85 }

/** xAI puts a prompt of its own before every conversation and counts it. */
const GROK: ModelFamily = {
  ...OPENAI,
  tokensPerChat: 150,
  tokensPerToolList: 60,
  tokensPerDefinitionToken: 1,
}

/** The harmony template of OpenAI's open models brings a system message. */
const GPT_OSS: ModelFamily = { ...OPENAI, tokensPerChat: 65, tokensPerDefinitionToken: 1 }

/** Llama, Qwen, Gemma, DeepSeek, GLM and what else is served openly. */
const OTHER: ModelFamily = {
  ...OPENAI,
  tokensPerOpenAiToken: 1.05,
  tokensPerChat: 3,
  tokensPerMessage: 5,
  tokensPerToolList: 120,
  tokensPerDefinitionToken: 1,
}

/** Its template explains how tools are called. */
const DEEPSEEK: ModelFamily = { ...OTHER, tokensPerToolList: 250 }

/** Models whose templates say little more than the request does. */
const TERSE: ModelFamily = { ...OTHER, tokensPerChat: 1, tokensPerMessage: 3, tokensPerToolList: 30 }

/** By a word in the model's name; the first that is there decides. `name`: of those that share a tokenizer and a template. */
const FAMILIES: readonly (readonly [word: RegExp, family: ModelFamily, name?: string])[] = [
  [
    /claude-(?:(?:opus|sonnet|haiku|fable|mythos)-(?:[5-9]|\d\d)(?!\d)|opus-4-[7-9])/,
    CLAUDE_SINCE_4_7,
    'claude-since-4-7',
  ],
  [/claude-(?:opus|sonnet|haiku)-4-[56]/, CLAUDE_SINCE_4_5, 'claude-since-4-5'],
  [/claude/, CLAUDE, 'claude'],
  [/gpt-oss/, GPT_OSS, 'gpt-oss'],
  [/gemini-(?:3\.[1-9]|[4-9]|\d\d)/, GEMINI_SINCE_3_1, 'gemini-since-3-1'],
  [/gemini|imagen|veo/, GEMINI, 'gemini'],
  [/deepseek/, DEEPSEEK, 'deepseek'],
  [/grok/, GROK, 'grok'],
  [/stral|mixtral|kimi|moonshot|command/, TERSE],
  [
    /(?:^|[/.:])(?:gpt|chatgpt|o\d|codex|computer-use|text-embedding|davinci|babbage|omni-moderation)/,
    OPENAI,
    'openai',
  ],
]

const FAMILY_OF_DIALECT: Readonly<Record<TokenizerFamily, ModelFamily>> = {
  openai: OPENAI,
  claude: CLAUDE,
  gemini: GEMINI,
}

/** The family of `model`; of an unnamed one, the family of its dialect. */
export function familyOf(model: string | null, format: PromptFormat): ModelFamily {
  if (model !== null) {
    const name = model.toLowerCase()
    return FAMILIES.find(([word]) => word.test(name))?.[1] ?? OTHER
  }
  return FAMILY_OF_DIALECT[format.tokenizerFamily ?? 'openai']
}

/** Names models that most likely count alike: a family, else the first word of the name (`llama`, `qwen`). */
export function familyNameOf(model: string): string {
  const name = model.toLowerCase()
  const [, , family] = FAMILIES.find(([word]) => word.test(name)) ?? []
  return family ?? /[a-z]+/.exec(name.slice(name.lastIndexOf('/') + 1))?.[0] ?? ''
}
