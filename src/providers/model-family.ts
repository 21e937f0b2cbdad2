import type { PromptFormat, TokenizerFamily } from './dialect.ts'

/**
 * What a family of models makes of a prompt, for estimates. Text and templates were compared with the counts that
 * upstreams reported for recorded calls; sizes of media are the makers' published ones for common sizes.
 */
export interface ModelFamily {
  /** Each digit is a token; OpenAI's encodings have up to three in one. */
  readonly splitsDigits: boolean
  /** Tokens for text that is one token in OpenAI's encoding. */
  readonly tokensPerOpenAiToken: number
  /** The same of text that the model wrote, and what an answer has beside it. */
  readonly tokensPerGeneratedToken: number
  readonly tokensPerAnswer: number
  /** What the chat template puts around the conversation and around each message. */
  readonly tokensPerChat: number
  readonly tokensPerMessage: number
  /** What naming any tools adds, and tokens for a token of their definitions as JSON. */
  readonly tokensPerToolList: number
  readonly tokensPerDefinitionToken: number
  readonly tokensPerTool: number
  /** What a request that makes the model call a tool adds to its prompt. */
  readonly tokensPerForcingPrompt: number
  /** What stands around a call of a tool where it is generated, around each of its arguments, and around several calls. */
  readonly tokensPerCall: number
  readonly tokensPerArgument: number
  readonly tokensPerSeveralCalls: number
  /** What of a call that the request demands is not generated, as it is given. */
  readonly tokensOfForcedCall: number
  /** What stands around a call in a later prompt, and around its result. */
  readonly tokensPerPastCall: number
  readonly tokensPerResult: number
  readonly tokensPerImage: number
  readonly tokensPerLowDetailImage: number
  /** Of a film and a file that say neither length nor pages, and of those that do. */
  readonly tokensPerVideo: number
  readonly videoTokensPerSecond: number
  readonly tokensPerDocument: number
  readonly tokensPerPage: number
  /** Of sound that says how long it plays, and of other. */
  readonly audioTokensPerSecond: number
  readonly audioBytesPerToken: number
  /** What differs where the request is in the format of OpenAI's chat, and in that of its responses. */
  readonly inChat?: Partial<ModelFamily>
  readonly inResponses?: Partial<ModelFamily>
  /** The same where Google's cloud serves it. */
  readonly atVertex?: Partial<ModelFamily>
}

/** https://platform.openai.com/docs/guides/images-vision: 765 for 1024 x 1024, 85 at low detail; sound 10 a second. */
const OPENAI: ModelFamily = {
  splitsDigits: false,
  tokensPerOpenAiToken: 1,
  tokensPerGeneratedToken: 1,
  tokensPerAnswer: 0,
  tokensPerChat: 3,
  tokensPerMessage: 4,
  tokensPerToolList: 0,
  tokensPerDefinitionToken: 0.67,
  tokensPerTool: 0,
  tokensPerForcingPrompt: 0,
  tokensPerCall: 7,
  tokensPerArgument: 0,
  tokensPerSeveralCalls: 15,
  tokensOfForcedCall: 1,
  tokensPerPastCall: 8,
  tokensPerResult: 2,
  tokensPerImage: 765,
  tokensPerLowDetailImage: 85,
  tokensPerVideo: 3000,
  videoTokensPerSecond: 263,
  tokensPerDocument: 3000,
  tokensPerPage: 750,
  audioTokensPerSecond: 10,
  audioBytesPerToken: 3200,
}

/** In chat completions their template explains how tools are called. */
const OPENAI_SINCE_5: ModelFamily = { ...OPENAI, inChat: { tokensPerChat: 2, tokensPerToolList: 85 } }

/**
 * https://platform.claude.com/docs/en/build-with-claude/vision: at most some 1,600 an image; PDF 1,500-3,000 a page. Calls are
 * written with a tag around each argument; a demanded one begins within these tags.
 */
const CLAUDE: ModelFamily = {
  ...OPENAI,
  tokensPerOpenAiToken: 1.17,
  tokensPerGeneratedToken: 1.12,
  tokensPerAnswer: 1.5,
  tokensPerChat: 6,
  tokensPerMessage: 1,
  tokensPerToolList: 270,
  tokensPerDefinitionToken: 1.18,
  tokensPerTool: 48,
  tokensPerForcingPrompt: -35,
  tokensPerCall: 31,
  tokensPerArgument: 14.5,
  tokensPerSeveralCalls: 0,
  tokensOfForcedCall: 39,
  tokensPerPastCall: 20,
  tokensPerResult: 28,
  tokensPerImage: 1500,
  tokensPerLowDetailImage: 1500,
  tokensPerPage: 2200,
}

/** What naming tools adds has grown since Claude 4.5. */
const CLAUDE_SINCE_4_5: ModelFamily = {
  ...CLAUDE,
  tokensPerGeneratedToken: 1.09,
  tokensPerAnswer: 3,
  tokensPerToolList: 492,
  tokensPerDefinitionToken: 1.3,
  tokensPerTool: 0,
  tokensPerForcingPrompt: 99,
  tokensPerCall: 32,
  tokensPerArgument: 11.3,
  tokensOfForcedCall: 21,
  tokensPerPastCall: 24,
  tokensPerResult: 23,
}

/** The tokenizer since Opus 4.7 makes more of a text. */
const CLAUDE_SINCE_4_7: ModelFamily = {
  ...CLAUDE_SINCE_4_5,
  tokensPerOpenAiToken: 1.39,
  tokensPerGeneratedToken: 1.43,
  tokensPerAnswer: 0,
  tokensPerToolList: 365,
  tokensPerDefinitionToken: 1.57,
  tokensPerForcingPrompt: 125,
  tokensPerCall: 20,
  tokensPerArgument: 20,
  tokensOfForcedCall: 6,
}

/** https://ai.google.dev/gemini-api/docs/tokens: 258 an image or a page, sound 32 and video 263 a second. */
const GEMINI: ModelFamily = {
  ...OPENAI,
  splitsDigits: true,
  tokensPerGeneratedToken: 1.02,
  tokensPerAnswer: 2.5,
  tokensPerChat: 0,
  tokensPerMessage: 0,
  tokensPerToolList: 9,
  tokensPerDefinitionToken: 0.23,
  tokensPerCall: 0,
  tokensPerSeveralCalls: 0,
  tokensPerPastCall: 2,
  tokensPerResult: 2,
  tokensPerImage: 258,
  tokensPerLowDetailImage: 258,
  tokensPerPage: 258,
  audioTokensPerSecond: 32,
  audioBytesPerToken: 750,
}

/** At Google's own API definitions count nearly as they are written since 2.5, and wholly since 3 Pro; elsewhere a third. */
const GEMINI_SINCE_2_5: ModelFamily = {
  ...GEMINI,
  tokensPerOpenAiToken: 1.06,
  tokensPerAnswer: 0,
  tokensPerToolList: 0,
  tokensPerDefinitionToken: 0.87,
  tokensPerCall: 13,
  tokensPerPastCall: 10,
  tokensPerResult: 10,
  inChat: { tokensPerDefinitionToken: 0.33 },
  atVertex: { tokensPerDefinitionToken: 0.38, audioTokensPerSecond: 25 },
}
const GEMINI_SINCE_3: ModelFamily = { ...GEMINI_SINCE_2_5, tokensPerPage: 540, audioTokensPerSecond: 25 }
const GEMINI_SINCE_3_1: ModelFamily = {
  ...GEMINI_SINCE_3,
  tokensPerOpenAiToken: 1.08,
  tokensPerDefinitionToken: 1.09,
}

/** xAI puts a prompt of its own before every conversation and counts it. */
const GROK: ModelFamily = {
  ...OPENAI,
  tokensPerChat: 188,
  tokensPerToolList: 16,
  tokensPerDefinitionToken: 1.3,
  tokensPerCall: 12,
  tokensPerArgument: 6,
  tokensPerSeveralCalls: 0,
  tokensPerPastCall: 4,
  tokensPerResult: 9,
}

/** The harmony template of OpenAI's open models brings a system message. */
const GPT_OSS: ModelFamily = {
  ...OPENAI,
  tokensPerAnswer: 9.5,
  tokensPerChat: 61,
  tokensPerMessage: 7,
  tokensPerDefinitionToken: 0.95,
  tokensPerCall: 8,
  tokensPerArgument: 3.4,
  tokensPerSeveralCalls: 0,
}

/** Llama, Qwen, Gemma, GLM and what else is served openly. */
const OTHER: ModelFamily = {
  ...OPENAI,
  tokensPerOpenAiToken: 1.03,
  tokensPerGeneratedToken: 1,
  tokensPerAnswer: 3,
  tokensPerChat: 3,
  tokensPerMessage: 5,
  tokensPerToolList: 120,
  tokensPerDefinitionToken: 1,
  tokensPerCall: 12,
  tokensPerArgument: 2,
  tokensPerSeveralCalls: 0,
  tokensOfForcedCall: 7,
}

/** Its template explains how tools are called. Its responses begin with a prompt of its own. */
const DEEPSEEK: ModelFamily = {
  ...OTHER,
  tokensPerGeneratedToken: 1.02,
  tokensPerAnswer: 0.4,
  tokensPerChat: 0,
  tokensPerToolList: 250,
  tokensPerCall: 24,
  tokensPerArgument: 10,
  tokensPerPastCall: 13,
  tokensPerResult: 7,
  inResponses: { tokensPerChat: 76, tokensPerToolList: 226, tokensPerPastCall: 18, tokensPerResult: 12 },
}

/** Its template explains calls at more length than that of its siblings. */
const QWEN_CODER: ModelFamily = { ...OTHER, tokensPerToolList: 230 }

const NOVA: ModelFamily = {
  ...OTHER,
  tokensPerChat: 0,
  tokensPerMessage: 0,
  tokensPerToolList: 600,
  tokensPerDefinitionToken: 1.5,
  tokensPerCall: 4,
  tokensPerArgument: 3,
}
const NOVA_2: ModelFamily = { ...NOVA, tokensPerToolList: 830 }

/** Models whose templates say little more than the request does. */
const TERSE: ModelFamily = {
  ...OTHER,
  tokensPerChat: 1,
  tokensPerMessage: 3,
  tokensPerToolList: 30,
  tokensPerCall: 4,
}

const MISTRAL: ModelFamily = {
  ...TERSE,
  splitsDigits: true,
  tokensPerOpenAiToken: 1.17,
  tokensPerGeneratedToken: 1.03,
  tokensPerAnswer: 2.4,
  tokensPerMessage: 2,
  tokensPerToolList: 0,
  tokensPerDefinitionToken: 1.5,
  tokensPerCall: 2.5,
}

/** Cohere bills what the request says, and no template. */
const COMMAND: ModelFamily = {
  ...TERSE,
  splitsDigits: true,
  tokensPerOpenAiToken: 1,
  tokensPerGeneratedToken: 1,
  tokensPerAnswer: 1,
  tokensPerChat: 0,
  tokensPerMessage: 0,
  tokensPerToolList: 0,
  tokensPerDefinitionToken: 0.71,
  tokensPerCall: 0,
  tokensPerArgument: 0.5,
}

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
  [/gemini-(?:3-pro|3\.[1-9]|[4-9]|\d\d)/, GEMINI_SINCE_3_1, 'gemini-since-3-1'],
  [/gemini-3/, GEMINI_SINCE_3, 'gemini-since-3'],
  [/gemini-2\.5/, GEMINI_SINCE_2_5, 'gemini-since-2-5'],
  [/gemini|imagen|veo/, GEMINI, 'gemini'],
  [/deepseek/, DEEPSEEK, 'deepseek'],
  [/qwen.*coder/, QWEN_CODER, 'qwen-coder'],
  [/grok/, GROK, 'grok'],
  [/nova-2/, NOVA_2, 'nova-2'],
  [/nova-(?:micro|lite|pro|premier)/, NOVA, 'nova'],
  [/stral/, MISTRAL],
  [/command/, COMMAND],
  [/mixtral|kimi|moonshot/, TERSE],
  [/(?:^|[/.:])(?:chat)?gpt-[5-9]/, OPENAI_SINCE_5, 'openai-since-5'],
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
  vertex: GEMINI,
}

/** The family of `model`; of an unnamed one, the family of its dialect. */
export function familyOf(model: string | null, format: PromptFormat): ModelFamily {
  if (model !== null) return familyOfName(model)
  return FAMILY_OF_DIALECT[format.tokenizerFamily ?? 'openai']
}

export function familyOfName(model: string): ModelFamily {
  const name = model.toLowerCase()
  return FAMILIES.find(([word]) => word.test(name))?.[1] ?? OTHER
}

/** Names models that most likely count alike: a family, else the first word of the name (`llama`, `qwen`). */
export function familyNameOf(model: string): string {
  const name = model.toLowerCase()
  const [, , family] = FAMILIES.find(([word]) => word.test(name)) ?? []
  return family ?? /[a-z]+/.exec(name.slice(name.lastIndexOf('/') + 1))?.[0] ?? ''
}
